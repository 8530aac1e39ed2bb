// Loaded into a service's process before its own code (`node --import`): ends or stops it at a step, the way a machine does.
// CRASH_AT is `STEP:start|end:NTH:SIGNAL`, several separated by commas.
import { writeSync } from 'node:fs';
import { stepChannel, type StepEvent } from '../../runtime/steps.ts';

const crashes = (process.env['CRASH_AT'] ?? '').split(',').map((text) => {
  const [step, at, nth, signal] = text.split(':');
  return { step, at, left: Number(nth), signal: signal as NodeJS.Signals };
});
stepChannel.subscribe((event) => {
  const { step, at } = event as StepEvent;
  for (const crash of crashes) {
    if (crash.step !== step || crash.at !== at || --crash.left !== 0) continue;
    writeSync(process.stdout.fd, `crash-at ${step} ${at}\n`);
    process.kill(process.pid, crash.signal);
  }
});
