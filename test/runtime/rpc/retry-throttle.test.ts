import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import fc from 'fast-check';
import { OrderService } from '../../../gen/ordersystem/order/v1/order_service_pb.ts';
import { NotSentError } from '../../../runtime/rpc/not-sent.ts';
import type { RetryOptions } from '../../../runtime/rpc/retry.ts';
import { caller, type Outcome, unavailable } from './retry-rig.ts';

describe('retryInterceptor throttles', () => {
  const atOnce = { random: () => 0 };

  /** Calls that share one interceptor: how many attempts each makes. `outcomes` is how the attempts end, in order. */
  async function attemptsOf(
    options: RetryOptions,
    calls: number,
    outcomes: (attempt: number) => Outcome,
  ): Promise<number[]> {
    let made = 0;
    const call = caller({ ...atOnce, ...options }, () => outcomes(made++));
    const attempts: number[] = [];
    for (let i = 0; i < calls; i++) {
      const before = made;
      await call().catch(() => {});
      attempts.push(made - before);
    }
    return attempts;
  }

  it('stops repeating when no more than half of the tokens are left', async () => {
    const options = { maxAttempts: 3, throttle: { maxTokens: 8, tokenRatio: 0.1 } };
    // 8 tokens: 7, 6, 5 after the first call; 4 after the next attempt, and that is half.
    assert.deepEqual(await attemptsOf(options, 3, () => unavailable()), [3, 1, 1]);
  });

  it('starts with 100 tokens', async () => {
    const attempts = await attemptsOf({ maxAttempts: 10 }, 7, () => unavailable());
    assert.deepEqual(attempts, [10, 10, 10, 10, 10, 1, 1]);
  });

  it('repeats again after enough calls that succeeded', async () => {
    const options = { maxAttempts: 2, throttle: { maxTokens: 4, tokenRatio: 0.5 } };
    // Tokens: 3, 2 and 1 after the failures, 3 after the answers; 2 after the next failure, which is half; 3.5, and then 2.5.
    const outcomes = [...fails(3), ...succeeds(4), ...fails(1), ...succeeds(3), ...fails(2)];
    assert.deepEqual(await attemptsOf(options, 11, (i) => outcomes[i]), [2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2]);
  });

  it('does not save more tokens than there were', async () => {
    const options = { maxAttempts: 9, throttle: { maxTokens: 4, tokenRatio: 1 } };
    const attempts = await attemptsOf(options, 21, (i) => (i < 20 ? undefined : unavailable()));
    assert.equal(attempts.at(-1), 2);
  });

  it('owes no tokens, however many calls failed', async () => {
    const options = { maxAttempts: 9, throttle: { maxTokens: 4, tokenRatio: 1 } };
    const attempts = await attemptsOf(options, 31, (i) => (i < 21 || i > 25 ? unavailable() : undefined));
    // 2 attempts of the first call and 19 of the others leave nothing; 5 answers fill up; 2 attempts again.
    assert.deepEqual(attempts, [2, ...Array<number>(19).fill(1), ...Array<number>(5).fill(1), 2, 1, 1, 1, 1, 1]);
  });

  it('takes no token for an error that is not repeated because of its code', async () => {
    const options = { maxAttempts: 2, throttle: { maxTokens: 4, tokenRatio: 0.1 } };
    const attempts = await attemptsOf(options, 11, (i) =>
      i < 10 ? new ConnectError('', Code.NotFound) : unavailable(),
    );
    assert.equal(attempts.at(-1), 2);
  });

  it('takes a token for any error whose pushback says not to retry, and for RESOURCE_EXHAUSTED that says when', async () => {
    const options = { maxAttempts: 2, throttle: { maxTokens: 4, tokenRatio: 0.1 } };
    const pushedBack = (code: Code, pushback: string) =>
      new ConnectError('', code, { 'grpc-retry-pushback-ms': pushback });
    const outcomes = [pushedBack(Code.NotFound, '-1'), pushedBack(Code.ResourceExhausted, '0')];
    // 3 and 2 are left, and 2 is half.
    assert.deepEqual(await attemptsOf(options, 2, () => outcomes.shift()), [1, 1]);
  });

  it('takes none for an attempt that was not sent', async () => {
    const options = { maxAttempts: 2, throttle: { maxTokens: 4, tokenRatio: 0.1 } };
    const notSent = new ConnectError('', Code.Unavailable, undefined, undefined, new NotSentError());
    const attempts = await attemptsOf(options, 11, (i) => (i < 10 ? notSent : unavailable()));
    assert.equal(attempts.at(-1), 2);
  });

  it('takes tokens for failures of calls that are never repeated', async () => {
    let attempts = 0;
    const throttle = { maxTokens: 4, tokenRatio: 0.1 };
    const call = caller({ ...atOnce, throttle }, () => (attempts++, unavailable()));
    await call({ method: OrderService.method.createOrder }).catch(() => {});
    await call().catch(() => {});
    assert.equal(attempts, 2, 'one of CreateOrder, one of GetStock');
  });

  it('repeats at most as often as its tokens allow, whatever fails', async () => {
    const runs = fc.record({
      maxTokens: fc.integer({ min: 2, max: 20 }),
      ends: fc.array(fc.boolean(), { maxLength: 300 }),
    });
    await fc.assert(
      fc.asyncProperty(runs, async ({ maxTokens, ends }) => {
        const throttle = { maxTokens, tokenRatio: 0.1 };
        const outcomes = ends.map((ok) => (ok ? undefined : unavailable()));
        const attempts = await attemptsOf({ throttle, maxAttempts: 5 }, 60, (i) => outcomes[i]);
        const repeats = attempts.reduce((sum, made) => sum + made - 1, 0);
        assert.ok(repeats <= maxTokens / 2 + 60 * 0.1, `${repeats} repeats`);
      }),
    );
  });
});

function fails(times: number): Outcome[] {
  return Array.from({ length: times }, () => unavailable());
}

function succeeds(times: number): Outcome[] {
  return Array.from({ length: times }, () => undefined);
}
