import { setTimeout as sleep } from 'node:timers/promises';
import { commonError } from '../../runtime/rpc/errors.ts';
import { encodeOrderNo, geneOf, SEQUENCES } from './order-no.ts';

/** The right to make numbers under one worker id. */
export interface WorkerGrant {
  readonly worker: number;
  /** No number may carry an earlier time: an earlier holder may have used it. */
  readonly fromMs: number;
  /** No number may carry a later time: the next holder starts after it. Grows with each renewal. */
  readonly untilMs: number;
}

/** Where the right comes from. */
export interface WorkerLease {
  /** The grant, while it is certainly ours; undefined when it was lost. */
  current(): WorkerGrant | undefined;
  /** Gives the worker id up for another, since this one is of no more use to this clock. */
  abandon(): void;
}

/** A clock that is behind by no more than this is waited for. */
const MAX_WAIT_MS = 50;

/** Makes order numbers: never the same twice, whatever the clock does. */
export class OrderNumbers {
  readonly #lease: WorkerLease;
  readonly #now: () => number;
  #grant: Pick<WorkerGrant, 'worker' | 'fromMs'> | undefined;
  #lastMs = 0;
  #sequence = 0;

  /** @param now milliseconds since 1970; a test passes its own. */
  constructor(lease: WorkerLease, now: () => number = Date.now) {
    this.#lease = lease;
    this.#now = now;
  }

  /** The time of the last number, for the next holder of the worker id. */
  get lastMs(): number {
    return this.#lastMs;
  }

  /**
   * A number for an order of this user.
   *
   * @throws UNAVAILABLE while there is no worker id, or the clock stands where numbers were already made.
   */
  async next(userId: bigint): Promise<string> {
    for (;;) {
      const grant = this.#lease.current();
      if (!grant) throw unavailable('no worker id to make order numbers with');
      if (grant.worker !== this.#grant?.worker || grant.fromMs !== this.#grant.fromMs) {
        this.#grant = grant;
        this.#lastMs = grant.fromMs;
        this.#sequence = 0;
      }
      const nowMs = this.#now();
      if (nowMs > grant.untilMs || nowMs < this.#lastMs - MAX_WAIT_MS) {
        this.#lease.abandon();
        throw unavailable('the clock was changed');
      }
      if (nowMs > this.#lastMs) {
        this.#lastMs = nowMs;
        this.#sequence = 0;
      } else if (nowMs < this.#lastMs || this.#sequence >= SEQUENCES) {
        await sleep(1);
        continue;
      }
      const parts = { timeMs: nowMs, worker: grant.worker, sequence: this.#sequence++, gene: geneOf(userId) };
      return encodeOrderNo(parts);
    }
  }
}

function unavailable(message: string) {
  return commonError('SERVICE_UNAVAILABLE', message);
}
