import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig, databaseUrl } from '../../../runtime/lifecycle/config.ts';
import { runProcess } from '../../../runtime/lifecycle/run-process.ts';
import { z } from 'zod';

// A service for run-process.test.ts, which sets BEHAVIOUR and waits for what it prints.

const say = (line: string) => console.log(line);

await runProcess('a-service', async (env, signal) => {
  const alive = setInterval(() => {}, 1000);
  const stop = async () => {
    say('stopping');
    if (env['BEHAVIOUR'] === 'stop-fails') throw new Error('no stop');
    if (env['BEHAVIOUR'] === 'stop-hangs') await new Promise(() => {});
    clearInterval(alive);
    say('stopped');
  };
  if (env['BEHAVIOUR'] === 'config') loadConfig(z.object({ DATABASE_URL: databaseUrl }), { DATABASE_URL: 'hunter2' });
  if (env['BEHAVIOUR'] === 'start-fails') throw new Error('no start');
  if (env['BEHAVIOUR'] === 'stray') setImmediate(() => void Promise.reject(new Error('astray')));
  if (env['BEHAVIOUR'] === 'warns') console.warn('a library', 'warns');
  if (env['BEHAVIOUR'] === 'starts-for-ever') {
    say('starting');
    await sleep(1e9, undefined, { signal }).catch(() => {});
    say('gave up');
    signal.throwIfAborted();
  }
  if (env['BEHAVIOUR'] === 'starts-on') {
    say('starting');
    await sleep(1e9, undefined, { signal }).catch(() => {});
  }
  if (env['BEHAVIOUR'] === 'start-hangs') {
    say('starting');
    signal.addEventListener('abort', () => say('told'));
    await new Promise(() => {});
  }
  say('started');
  return { stop };
});
say('ready');
