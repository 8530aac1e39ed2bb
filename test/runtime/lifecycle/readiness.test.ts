import assert from 'node:assert/strict';
import { once } from 'node:events';
import { pino } from 'pino';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { type Check, Readiness, type ReadinessOptions } from '../../../runtime/lifecycle/readiness.ts';

describe('Readiness', () => {
  let readiness: Readiness | undefined;
  afterEach(() => readiness?.stop());

  function watch(checks: Record<string, Check>, options: Partial<ReadinessOptions> = {}): Readiness {
    readiness = new Readiness({ checks, intervalMs: 600_000, logger: silentLogger, ...options });
    return readiness;
  }

  it('is not ready before it has started', async () => {
    const starting = watch({ off: () => true });
    assert.deepEqual([starting.problems(), starting.started], [['the process is starting'], false]);
    await starting.start();
    assert.deepEqual([starting.problems(), starting.started], [[], true]);
  });

  it('says what is wrong: what is false, what throws, what rejects, what does not end; and it tells that one so', async () => {
    const told: string[] = [];
    const checked = watch(
      {
        false: () => false,
        throws: () => {
          throw new Error('why');
        },
        fine: () => true,
        rejects: () => Promise.reject(new Error('why')),
        hangs: (signal) => {
          signal.addEventListener('abort', () => told.push('hangs'));
          return new Promise(() => {});
        },
        slow: () => new Promise((resolve) => setTimeout(resolve, 1, true)),
      },
      { timeoutMs: 50 },
    );
    await checked.start();
    assert.deepEqual(checked.problems(), ['false', 'throws', 'rejects', 'hangs']);
    assert.deepEqual(told, ['hangs']);
  });

  it('tells of a change, once for each', async () => {
    let up = true;
    const watched = watch({ off: () => up });
    const seen: (readonly string[])[] = [];
    watched.on('change', () => seen.push(watched.problems()));
    await watched.start();
    for (up of [true, false, false, true, true]) await watched.runOnce();
    assert.deepEqual(seen, [[], ['off'], []]);
  });

  it('checks again and again by itself', async () => {
    let up = true;
    const watched = watch({ off: () => up }, { intervalMs: 1 });
    await watched.start();
    up = false;
    await once(watched, 'change');
    assert.deepEqual(watched.problems(), ['off']);
    up = true;
    await once(watched, 'change');
    assert.deepEqual(watched.problems(), []);
  });

  it('is not ready from the moment that it drains, whatever its checks say, and waits for others to notice', async () => {
    let up = true;
    const draining = watch({ off: () => up });
    await draining.start();
    const changes: (readonly string[])[] = [];
    draining.on('change', () => changes.push(draining.problems()));
    const startMs = performance.now();
    const drained = draining.drain(60);
    assert.deepEqual(changes, [['the process is shutting down']]);
    await drained;
    assert.ok(performance.now() - startMs >= 55);
    up = false;
    await draining.runOnce();
    assert.deepEqual(draining.problems(), ['the process is shutting down']);
  });

  it('does not wait when it has never started: nobody was told to send calls', async () => {
    const draining = watch({});
    const startMs = performance.now();
    await draining.drain(60_000);
    assert.ok(performance.now() - startMs < 5000);
  });

  it('logs why when something goes wrong, not in each pass, and that it is over', async () => {
    const lines: string[] = [];
    const write = (text: string) => {
      const { level, msg, err, problems } = JSON.parse(text) as Record<string, never> & { err?: Error };
      lines.push([level, msg, err?.message, problems].filter(Boolean).join(' '));
    };
    let up = false;
    const check = () => up || Promise.reject(new Error('why'));
    const logged = watch({ off: check }, { logger: pino({ base: null }, { write }) });
    await logged.start();
    await logged.runOnce();
    up = true;
    await logged.runOnce();
    assert.deepEqual(lines, ['40 off why', '40 not ready off', '30 ready again']);
  });
});
