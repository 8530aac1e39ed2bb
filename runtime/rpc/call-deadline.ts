import { Code, ConnectError } from '@connectrpc/connect';
import type { Deadline } from './deadline.ts';

const TIMED_OUT = new ConnectError('the operation timed out', Code.DeadlineExceeded);
const HUNG_UP = new ConnectError('the caller hung up', Code.Canceled);
const OVER = new ConnectError('the call is over', Code.Canceled);

/** How long a call may take: the same at every door. The signal is aborted when it is over, and says why. */
export class CallDeadline {
  readonly #controller = new AbortController();
  readonly #endMs: number;
  readonly #timer: NodeJS.Timeout;

  /**
   * @param askedMs what the caller asked for. Undefined: nothing. 0 or less: it is over already.
   * @param limits milliseconds: for a call whose caller set none, and the most that one gets.
   */
  constructor(askedMs: number | undefined, limits: Deadline) {
    const timeoutMs = askedMs === undefined ? limits.defaultMs : Math.min(askedMs, limits.maxMs);
    this.#endMs = Date.now() + timeoutMs;
    this.#timer = setTimeout(() => this.#controller.abort(TIMED_OUT), Math.max(0, timeoutMs));
    if (timeoutMs <= 0) this.#controller.abort(TIMED_OUT);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Milliseconds that are left. */
  readonly timeoutMs = (): number => this.#endMs - Date.now();

  /** The caller has gone. `passed`: because his own deadline has. */
  callerLeft(passed = false): void {
    this.#controller.abort(passed ? TIMED_OUT : HUNG_UP);
  }

  /** The call is over: ends its timer, and tells whoever still looks at the signal. */
  end(): void {
    clearTimeout(this.#timer);
    this.#controller.abort(OVER);
  }
}
