/** How long to wait between attempts. */
export interface Backoff {
  /** Upper bound of the first wait, in milliseconds. */
  readonly baseMs: number;
  /** Upper bound of every wait, in milliseconds. */
  readonly maxMs: number;
}

/**
 * Milliseconds to wait before the next attempt: full jitter, a random part of min(maxMs, baseMs × 2^attempt).
 *
 * @param attempt how many attempts have failed before this one, from 0.
 * @param random 0 ≤ random() < 1; a test passes its own.
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function fullJitterMs(attempt: number, backoff: Backoff, random: () => number = Math.random): number {
  return random() * Math.min(backoff.maxMs, backoff.baseMs * 2 ** Math.min(attempt, 30));
}
