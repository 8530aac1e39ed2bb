import { type Backoff, fullJitterMs } from '../../runtime/lifecycle/backoff.ts';
import type { Logger } from '../../runtime/lifecycle/logger.ts';
import { type EventLane, giveBack, type LeasedEvent, leaseEvents, settleFailed, settleSent } from '../db/events.ts';
import type { OrderDb } from '../db/models.ts';
import { step } from '../domain/steps.ts';
import { AwayError } from './publisher.ts';

/** How the events of one lane are handed on. */
export interface RelayOptions {
  lane: EventLane;
  /**
   * Does what an event asks for. Must be harmless when repeated, and be over before the lease is.
   *
   * @throws AwayError when nobody could take it now: it does not count as an attempt. Any other error is the event's own.
   */
  handle: (event: LeasedEvent) => Promise<void>;
  /** False: nobody can take events now, so they are left where they are. Default always true. */
  isReady?: () => boolean;
  /** Events of one pass. Default 250. */
  limit?: number;
  /** Milliseconds until an event whose relay died is due again. */
  leaseMs: number;
  /** After this many attempts an event is DEAD. */
  maxAttempts: number;
  /** After a failure of the event's own. Default 200 ms doubling up to 10 minutes, with full jitter. */
  backoff?: Backoff;
  /** After a pass in which nobody took anything. Default 200 ms doubling up to 5 s, with full jitter. */
  pause?: Backoff;
  logger: Logger;
}

/** What became of an event: it is to be settled as sent, to be given back, or has been settled as failed. */
export type Handled = 'sent' | 'away' | 'failed';

/**
 * Hands on the events of one lane. Any number of relays may run. It finds what nobody has in hand: events that were written without a
 * lease, that failed before, or whose process has died.
 */
export class Relay {
  readonly #db: OrderDb;
  readonly #options: RelayOptions;
  /** Passes in a row in which somebody was away and nobody took anything. */
  #vain = 0;
  #pausedUntil = 0;
  #ahead: Promise<LeasedEvent[]> | undefined;

  constructor(db: OrderDb, options: RelayOptions) {
    this.#db = db;
    this.#options = options;
  }

  /** Milliseconds that an event is leased for. */
  get leaseMs(): number {
    return this.#options.leaseMs;
  }

  /** Whether events can be handed on now. */
  isReady(): boolean {
    return performance.now() >= this.#pausedUntil && (this.#options.isReady?.() ?? true);
  }

  /**
   * One pass: leases what is due, handles it, settles it. True: there is more. While a full batch is handled the next one is leased, so
   * that neither the database nor the broker waits for the other.
   */
  async runOnce(): Promise<boolean> {
    const { limit = 250 } = this.#options;
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (!this.isReady()) {
      await this.#giveBack((await ahead) ?? []);
      return false;
    }
    const events = await (ahead ?? this.#lease(limit));
    if (events.length === limit) {
      this.#ahead = this.#lease(limit);
      // The next pass fails with it.
      this.#ahead.catch(() => {});
    }
    const handled = await Promise.all(events.map((event) => this.handle(event)));
    const sent = events.filter((_, i) => handled[i] === 'sent');
    if (sent.length > 0) await step('events.settle', () => settleSent(this.#db, sent));
    await this.#giveBack(events.filter((_, i) => handled[i] === 'away'));
    return this.#ahead !== undefined;
  }

  /** Gives back what it has leased and not begun. */
  async stop(): Promise<void> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    await this.#giveBack((await ahead) ?? []);
  }

  #lease(limit: number): Promise<LeasedEvent[]> {
    const { lane, leaseMs } = this.#options;
    return step('events.lease', () => leaseEvents(this.#db, lane, limit, leaseMs));
  }

  async #giveBack(events: readonly LeasedEvent[]): Promise<void> {
    if (events.length > 0) await step('event.give-back', () => giveBack(this.#db, events));
  }

  /** Handles one event that is leased. */
  async handle(event: LeasedEvent): Promise<Handled> {
    try {
      await step('event.handle', () => this.#options.handle(event));
      this.#vain = 0;
      return 'sent';
    } catch (error) {
      if (!(error instanceof AwayError)) return this.#fail(event, error);
      this.#wait(error);
      return 'away';
    }
  }

  /** Leaves the lane alone for a while. Events that come back together from one outage count once. */
  #wait(err: AwayError): void {
    if (!this.isReady()) return;
    const { lane, pause = { baseMs: 200, maxMs: 5_000 }, logger } = this.#options;
    this.#pausedUntil = performance.now() + fullJitterMs(this.#vain++, pause);
    logger.warn({ err, lane }, 'events wait');
  }

  async #fail(event: LeasedEvent, err: unknown): Promise<'failed'> {
    const { maxAttempts, logger, backoff = { baseMs: 200, maxMs: 600_000 } } = this.#options;
    const dead = event.attempts >= maxAttempts;
    const retryMs = dead ? undefined : fullJitterMs(event.attempts - 1, backoff);
    await step('event.give-back', () => settleFailed(this.#db, event, retryMs));
    const line = { event_id: event.eventId, order_no: event.orderNo, attempts: event.attempts, err };
    if (dead) logger.error(line, 'event is DEAD: a person has to look at it');
    else logger.warn(line, 'event failed, will be tried again');
    return 'failed';
  }
}
