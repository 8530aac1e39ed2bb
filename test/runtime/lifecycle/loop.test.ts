import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { Loop } from '../../../runtime/lifecycle/loop.ts';

describe('Loop', () => {
  /** How many passes have started. */
  let passes: number;
  let loop: Loop;

  beforeEach(() => {
    passes = 0;
    mock.timers.enable({ apis: ['setTimeout'] });
  });
  afterEach(async () => {
    await loop.stop();
    mock.timers.reset();
  });

  /** Starts a loop whose passes take 1,000 ms to rest; `pass` is told its number, from 1. */
  function start(pass: (number: number) => Promise<boolean>, logger = silentLogger): Loop {
    return (loop = new Loop({ name: 'worker', intervalMs: 1000, runOnce: () => pass(++passes), logger }).start());
  }

  /** Lets so much time pass, and everything run that it brings about. */
  async function after(ms: number): Promise<number> {
    await turn();
    mock.timers.tick(ms);
    await turn();
    return passes;
  }

  it('makes a pass at once, and the next one after the interval', async () => {
    start(() => Promise.resolve(false));
    assert.equal(await after(0), 1);
    assert.equal(await after(999), 1);
    assert.equal(await after(1), 2);
    assert.equal(await after(1000), 3);
  });

  it('goes on at once while there is more to do', async () => {
    start((number) => Promise.resolve(number < 5));
    assert.equal(await after(0), 5);
    assert.equal(await after(1000), 6);
  });

  const failures: Record<string, () => Promise<boolean>> = {
    'a pass that fails': () => Promise.reject(new Error('no luck')),
    'a pass that throws before it returns a promise': () => {
      throw new Error('no luck');
    },
  };
  for (const [what, fail] of Object.entries(failures)) {
    it(`logs ${what}, and makes the next one after the interval`, async () => {
      const lines: string[] = [];
      const logger = pino({ messageKey: 'message' }, { write: (line: string) => void lines.push(line) });
      start((number) => (number === 1 ? fail() : Promise.resolve(false)), logger);
      assert.equal(await after(999), 1);
      assert.equal(await after(1), 2);
      assert.equal(lines.length, 1);
      const line = JSON.parse(lines[0]!) as Record<string, unknown>;
      assert.deepEqual([line['worker'], line['message']], ['worker', 'pass failed']);
      assert.equal((line['err'] as Error).message, 'no luck');
    });
  }

  it('makes the next pass at once when it is woken in its pause, and then rests again', async () => {
    start(() => Promise.resolve(false));
    await after(500);
    loop.wake();
    assert.equal(await after(0), 2);
    assert.equal(await after(999), 2);
    assert.equal(await after(1), 3);
  });

  it('makes one more pass right after the one in work when it is woken during it', async () => {
    const gate = Promise.withResolvers<boolean>();
    start((number) => (number === 1 ? gate.promise : Promise.resolve(false)));
    await after(0);
    loop.wake();
    loop.wake();
    assert.equal(await after(0), 1);
    gate.resolve(false);
    assert.equal(await after(0), 2);
    assert.equal(await after(999), 2);
  });

  it('never runs two passes at once', async () => {
    const gate = Promise.withResolvers<boolean>();
    start(() => gate.promise);
    await after(5000);
    loop.wake();
    assert.equal(await after(5000), 1);
    gate.resolve(false);
  });

  it('stop lets the pass in work end, waits for it, and starts no other', async () => {
    const gate = Promise.withResolvers<boolean>();
    start(() => gate.promise);
    await after(0);
    const log: string[] = [];
    const stopped = loop.stop().then(() => log.push('stopped'));
    await after(5000);
    assert.equal(log.length, 0);
    log.push('pass ended');
    gate.resolve(true);
    await stopped;
    assert.deepEqual(log, ['pass ended', 'stopped']);
    loop.wake();
    assert.equal(await after(5000), 1);
  });

  it('stop ends the pause', async () => {
    start(() => Promise.resolve(false));
    await after(0);
    await loop.stop();
    assert.equal(passes, 1);
  });

  it('stop before start, and once more, does no harm', async () => {
    loop = new Loop({
      name: 'worker',
      intervalMs: 1000,
      runOnce: () => Promise.resolve(!!++passes),
      logger: silentLogger,
    });
    await loop.stop();
    await loop.stop();
    loop.start();
    assert.equal(await after(1000), 0);
  });
});
