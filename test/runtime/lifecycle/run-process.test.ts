import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

describe('runProcess', () => {
  /**
   * Runs a-process.ts to its end. `on` says which signal it gets when it prints a line. Returns its exit code, what it said, its
   * log, and what it wrote to standard error. The log is written beside what it says: their order means nothing.
   */
  async function run(behaviour: string, on: Record<string, NodeJS.Signals> = {}) {
    const program = new URL('./a-process.ts', import.meta.url).pathname;
    const child = spawn(process.execPath, [program], { env: { ...process.env, BEHAVIOUR: behaviour } });
    const closed = once(child, 'close');
    const errors = text(child.stderr);
    const log: string[] = [];
    const said: string[] = [];
    for await (const line of createInterface(child.stdout)) {
      if (!line.startsWith('{')) {
        said.push(line);
        const signal = on[line];
        if (signal) child.kill(signal);
        continue;
      }
      const { level, service, message, err } = JSON.parse(line) as Record<string, string> & { err?: Error };
      log.push(`${level} ${service}: ${message}${err ? ` (${err.message})` : ''}`);
    }
    const [code] = (await closed) as [number | null];
    return { code, said, log: log.sort(), errors: await errors };
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`stops on ${signal}, and exits 0 when that is done`, async () => {
      const { code, said, log } = await run('', { ready: signal });
      assert.deepEqual(said, ['started', 'ready', 'stopping', 'stopped']);
      assert.deepEqual([code, log], [0, ['30 a-service: stopping']]);
    });
  }

  it('gives up a start half way, and exits 0', async () => {
    const { code, said, log } = await run('starts-for-ever', { starting: 'SIGTERM' });
    assert.deepEqual(said, ['starting', 'gave up']);
    assert.deepEqual([code, log], [0, ['30 a-service: stopping']]);
  });

  it('stops at once what was told to stop while it started, and had started nevertheless', async () => {
    const { code, said } = await run('starts-on', { starting: 'SIGTERM' });
    const order = said.filter((line) => line !== 'ready');
    assert.deepEqual([code, order], [0, ['starting', 'started', 'stopping', 'stopped']]);
  });

  it('exits 1 at once on a second signal during the start', async () => {
    const { code, said } = await run('start-hangs', { starting: 'SIGTERM', told: 'SIGTERM' });
    assert.deepEqual([code, said], [1, ['starting', 'told']]);
  });

  it('exits 1 at once on a second signal', async () => {
    const { code, said } = await run('stop-hangs', { ready: 'SIGTERM', stopping: 'SIGINT' });
    assert.deepEqual([code, said.at(-1)], [1, 'stopping']);
  });

  it('exits 1 and says why when it cannot stop', async () => {
    const { code, log } = await run('stop-fails', { ready: 'SIGTERM' });
    assert.deepEqual([code, log], [1, ['30 a-service: stopping', '60 a-service: could not stop cleanly (no stop)']]);
  });

  it('exits 1 and says why when it cannot start', async () => {
    const { code, log } = await run('start-fails');
    assert.deepEqual([code, log], [1, ['60 a-service: could not start (no start)']]);
  });

  it('exits 1 on a wrong configuration, which it names in plain text on standard error', async () => {
    const { code, log, errors } = await run('config');
    assert.deepEqual([code, log], [1, []]);
    assert.equal(
      errors,
      'a-service: wrong configuration:\n  DATABASE_URL: must be mysql://user:password@host:port/database\n',
    );
  });

  it('exits 1 when a promise is rejected that nobody handles, and logs it', async () => {
    const { code, log } = await run('stray');
    assert.deepEqual([code, log.at(-1)], [1, '60 a-service: unhandled rejection (astray)']);
  });

  it('logs what a library says in plain text', async () => {
    const { log } = await run('warns', { ready: 'SIGTERM' });
    assert.ok(log.includes('40 a-service: a library warns'));
  });
});
