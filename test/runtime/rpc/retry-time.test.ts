import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import fc from 'fast-check';
import { timeoutOf } from '../../../runtime/rpc/deadline.ts';
import type { RetryOptions } from '../../../runtime/rpc/retry.ts';
import { FakeClock } from './fake-clock.ts';
import { caller, unavailable } from './retry-rig.ts';
import { failureOf } from './rig.ts';

describe('retryInterceptor in time', () => {
  let clock: FakeClock;
  beforeEach(() => (clock = new FakeClock()).install());
  afterEach(() => clock.uninstall());

  const half = { random: () => 0.5 };

  /** The waits of a call whose attempts all fail with `error`. */
  async function waitsOf(options: RetryOptions, error = unavailable(), timeoutMs?: number): Promise<number[]> {
    clock.waits.length = 0;
    await failureOf(caller(options, () => error)(timeoutMs === undefined ? {} : { timeoutMs }));
    return [...clock.waits];
  }

  it('waits a random part of a bound that doubles from 20 ms up to 500', async () => {
    assert.deepEqual(await waitsOf({ ...half, maxAttempts: 8 }), [10, 20, 40, 80, 160, 250, 250]);
    const parts = [0, 0.25, 0.999];
    assert.deepEqual(await waitsOf({ random: () => parts.shift()! }), [0, 10, 79.92]);
  });

  it('takes the back-off that it is given', async () => {
    const backoff = { baseMs: 100, maxMs: 300 };
    assert.deepEqual(await waitsOf({ ...half, backoff }), [50, 100, 150]);
  });

  it("waits as long as the server's pushback says, whatever the back-off", async () => {
    assert.deepEqual(await waitsOf({ ...half, maxAttempts: 3 }, unavailable('1234')), [1234, 1234]);
    assert.deepEqual(await waitsOf({ ...half, maxAttempts: 3 }, unavailable('0')), [0, 0]);
  });

  it('does not retry on a pushback that is negative or cannot be read', async () => {
    for (const pushback of ['-1', 'soon', '', '1.5', '1, 2', '99999999999', '010']) {
      let attempts = 0;
      await failureOf(caller(half, () => (attempts++, unavailable(pushback)))());
      assert.equal(attempts, 1, `pushback ${pushback}`);
    }
  });

  it('begins its back-off anew after a pushback', async () => {
    const outcomes = [unavailable(), unavailable(), unavailable('7'), unavailable(), unavailable()];
    clock.waits.length = 0;
    await failureOf(caller({ ...half, maxAttempts: 5 }, () => outcomes.shift())());
    assert.deepEqual(clock.waits, [10, 20, 7, 10]);
  });

  it('does not start a wait that ends after the deadline', async () => {
    assert.deepEqual(await waitsOf(half, unavailable(), 30), [10]);
    assert.deepEqual(await waitsOf(half, unavailable('50'), 50), []);
    assert.deepEqual(await waitsOf(half, unavailable('50'), 51), [50]);
  });

  /** The `grpc-timeout` of each attempt; an attempt takes `durationMs`, or its time-out when that is shorter. */
  async function timeoutsOf(
    options: RetryOptions,
    durationMs: number,
    timeoutMs?: number,
  ): Promise<(number | undefined)[]> {
    const seen: (number | undefined)[] = [];
    const call = caller(options, (header) => {
      const limit = timeoutOf(header);
      seen.push(limit);
      clock.nowMs += Math.min(durationMs, limit ?? Infinity);
      return new ConnectError('too slow', Code.DeadlineExceeded);
    });
    await failureOf(call(timeoutMs === undefined ? {} : { timeoutMs }));
    return seen;
  }

  it('gives each attempt what is left of the call', async () => {
    const backoff = { baseMs: 10, maxMs: 10 };
    assert.deepEqual(await timeoutsOf({ ...half, backoff }, 100, 1000), [1000, 895, 790, 685]);
  });

  it('gives no attempt more than attemptTimeoutMs, and the last one only what is left', async () => {
    const backoff = { baseMs: 10, maxMs: 10 };
    const options = { ...half, backoff, attemptTimeoutMs: 300 };
    assert.deepEqual(await timeoutsOf(options, Infinity, 700), [300, 300, 90]);
    assert.deepEqual(await timeoutsOf({ ...options, attemptTimeoutMs: 800 }, Infinity, 700), [700]);
  });

  it('keeps attempts to attemptTimeoutMs in a call without a deadline, and sets none else', async () => {
    assert.deepEqual(await timeoutsOf({ ...half, attemptTimeoutMs: 300 }, Infinity), [300, 300, 300, 300]);
    assert.deepEqual(await timeoutsOf(half, 100), [undefined, undefined, undefined, undefined]);
  });

  it('never takes longer than the deadline, whatever its attempts, its waits and the server do', async () => {
    const cases = fc.record({
      timeoutMs: fc.integer({ min: 0, max: 2000 }),
      attemptTimeoutMs: fc.option(fc.integer({ min: 1, max: 2000 }), { nil: undefined }),
      maxAttempts: fc.integer({ min: 1, max: 10 }),
      attempts: fc.array(
        fc.record({
          ms: fc.nat(800),
          pushback: fc.option(fc.nat(900)),
          part: fc.double({ min: 0, max: 0.99, noNaN: true }),
        }),
        {
          minLength: 10,
          maxLength: 10,
        },
      ),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ timeoutMs, attempts, ...some }) => {
        const startMs = clock.nowMs;
        let number = 0;
        const options = { ...some, random: () => attempts[number - 1]!.part } as RetryOptions;
        const call = caller(options, (header) => {
          const { ms, pushback } = attempts[number++]!;
          // The server keeps each attempt's own deadline, which is the whole milliseconds above.
          clock.nowMs += Math.min(ms, timeoutOf(header)!);
          return unavailable(pushback === null ? undefined : String(pushback));
        });
        await failureOf(call({ timeoutMs }));
        assert.ok(clock.nowMs - startMs < timeoutMs + 1.001);
      }),
    );
  });
});
