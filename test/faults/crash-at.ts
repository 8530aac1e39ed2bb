// Loaded into a service's process before its own code (`node --import`): ends or stops it at a step, the way a machine does.
// CRASH_AT is `STEP:start|end:NTH:SIGNAL`. With CRASH_ARMED_BY_SIGNAL it counts from SIGUSR2 on.
import { writeSync } from 'node:fs';
import { stepChannel, type StepEvent } from '../../runtime/steps.ts';

const [step, at, nth, signal] = (process.env['CRASH_AT'] ?? '').split(':');
let left = Number(nth);
let armed = process.env['CRASH_ARMED_BY_SIGNAL'] === undefined;
process.on('SIGUSR2', () => void (armed = true));
stepChannel.subscribe((event) => {
  const here = event as StepEvent;
  if (!armed || here.step !== step || here.at !== at || --left !== 0) return;
  writeSync(process.stdout.fd, `crash-at ${step} ${at}\n`);
  process.kill(process.pid, signal);
});
