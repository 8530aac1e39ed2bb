import { setTimeout as sleep } from 'node:timers/promises';
import { type Backoff, fullJitterMs } from './backoff.ts';
import type { Logger } from './logger.ts';

/** What is tried, and until when. */
export interface TryOptions {
  /** One attempt. It must leave nothing behind when it fails. */
  run: () => Promise<void>;
  /** What the log says of an attempt that failed. */
  failure: string;
  /** Done after each attempt that failed, before the pause. What it throws ends the attempts. */
  onFailure?: () => Promise<unknown>;
  /** Ends the attempts. */
  signal: AbortSignal;
  /** Pauses between them. Default 200 ms doubling up to 5 s. */
  backoff?: Backoff;
  logger: Logger;
}

/**
 * Tries until it works: a process that starts before its database waits for it. Each failure is logged with its cause, since a wrong
 * password looks the same as a database that is still starting.
 *
 * @throws the signal's reason when it is aborted before that.
 */
export async function keepTrying(options: TryOptions): Promise<void> {
  const { run, failure, onFailure, signal, logger, backoff = { baseMs: 200, maxMs: 5000 } } = options;
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      await run();
      return;
    } catch (err) {
      const retryInMs = Math.round(fullJitterMs(attempt, backoff));
      logger.error({ err, attempt: attempt + 1, retry_in_ms: retryInMs }, failure);
      await onFailure?.();
      await sleep(retryInMs, undefined, { signal }).catch(() => {});
    }
  }
}
