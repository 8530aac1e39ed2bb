import { MethodOptions_IdempotencyLevel as Idempotency } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createContextKey, type Interceptor, type UnaryRequest } from '@connectrpc/connect';
import { type Backoff, fullJitterMs } from '../lifecycle/backoff.ts';
import { sleep } from '../lifecycle/sleep.ts';
import { setTimeoutOf, timeoutOf } from './deadline.ts';
import { wasNotSent } from './not-sent.ts';

/** How the retry interceptor behaves. Times in milliseconds. */
export interface RetryOptions {
  /** Attempts of one call, the first included. Default 4. */
  maxAttempts?: number;
  /** The longest that one attempt may take. Default: what is left of the call. */
  attemptTimeoutMs?: number;
  /** Waits between attempts, with full jitter. Default 20 ms doubling up to 500 ms. */
  backoff?: Backoff;
  /**
   * Retry throttling of gRFC A6: a failed attempt takes 1 token, a success gives `tokenRatio` back, and there is no retry
   * while no more than half of `maxTokens` are left. Default 100 and 0.1.
   */
  throttle?: { maxTokens: number; tokenRatio: number };
  /** Which calls may be repeated besides those whose method the contract marks IDEMPOTENT or NO_SIDE_EFFECTS. Default: none. */
  mayRepeat?: (request: UnaryRequest) => boolean;
  /** 0 ≤ random() < 1. Default Math.random. */
  random?: () => number;
}

/** Set this context value to an empty list to be told the error of each attempt that was sent, in order. */
export const failedAttemptsKey = createContextKey<ConnectError[] | undefined>(undefined, {
  description: 'errors of the attempts of this call',
});

/**
 * Client interceptor: repeats calls that may be repeated, on UNAVAILABLE, on DEADLINE_EXCEEDED of one attempt while the call's
 * own deadline is open, and on RESOURCE_EXHAUSTED when the server says when to come again. The last attempt's error is the call's.
 * A server's `grpc-retry-pushback-ms` is obeyed; one that is negative or cannot be read means: do not retry. An attempt that was
 * refused on this side and never sent is not repeated either, nor counted. Put it behind the deadline interceptor.
 *
 * @see https://github.com/grpc/proposal/blob/master/A6-client-retries.md
 */
export function retryInterceptor(options: RetryOptions = {}): Interceptor {
  const { maxAttempts = 4, attemptTimeoutMs = Infinity, random = Math.random, mayRepeat = () => false } = options;
  const backoff = options.backoff ?? { baseMs: 20, maxMs: 500 };
  const { maxTokens, tokenRatio } = options.throttle ?? { maxTokens: 100, tokenRatio: 0.1 };
  let tokens = maxTokens;

  return (next) => async (request) => {
    if (request.stream) return next(request);
    const repeatable = isIdempotent(request) || mayRepeat(request);
    const failed = request.contextValues.get(failedAttemptsKey) ?? [];
    const deadline = performance.now() + (timeoutOf(request.header) ?? Infinity);

    let waits = 0;
    for (let attempt = 0; ; attempt++) {
      const limitMs = Math.min(deadline - performance.now(), attemptTimeoutMs);
      if (limitMs !== Infinity) setTimeoutOf(request.header, limitMs);
      if (attempt > 0) request.header.set('grpc-previous-rpc-attempts', String(attempt));
      try {
        const response = await next(request);
        tokens = Math.min(maxTokens, tokens + tokenRatio);
        return response;
      } catch (reason) {
        const error = ConnectError.from(reason);
        if (wasNotSent(error)) throw error;
        failed.push(error);
        const pushback = pushbackMs(error.metadata);
        if (!isFailure(error.code, pushback)) throw error;
        tokens = Math.max(0, tokens - 1);
        const waitMs = pushback ?? fullJitterMs(waits, backoff, random);
        // After a pushback the back-off begins anew.
        waits = pushback === undefined ? waits + 1 : 0;
        const inTime = performance.now() + waitMs < deadline;
        if (!repeatable || attempt + 1 >= maxAttempts || tokens <= maxTokens / 2 || waitMs < 0 || !inTime) throw error;
        await sleep(waitMs, request.signal).catch(() => {
          throw new ConnectError('cancelled while waiting to retry', Code.Canceled, undefined, undefined, error);
        });
      }
    }
  };
}

function isIdempotent(request: UnaryRequest): boolean {
  const level = request.method.idempotency;
  return level === Idempotency.IDEMPOTENT || level === Idempotency.NO_SIDE_EFFECTS;
}

/** Whether it says something of the server, and not of the request. RESOURCE_EXHAUSTED without a pushback may be a message's size. */
function isFailure(code: Code, pushback: number | undefined): boolean {
  if (code === Code.Unavailable || code === Code.DeadlineExceeded) return true;
  return pushback !== undefined && (pushback < 0 || code === Code.ResourceExhausted);
}

/** Undefined: the server said nothing. Negative: it said not to retry. */
function pushbackMs(metadata: Headers): number | undefined {
  const text = metadata.get('grpc-retry-pushback-ms');
  if (text === null) return undefined;
  return /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : -1;
}
