import { randomUUID } from 'node:crypto';
import type { Logger } from '../../runtime/lifecycle/logger.ts';
import { nextTurn } from '../../runtime/next-turn.ts';
import { type EventHandOver, giveBack, type LeasedEvent, settleSent } from '../db/events.ts';
import type { OrderDb } from '../db/models.ts';
import { step } from '../domain/steps.ts';
import type { Relay } from './relay.ts';

/** More events than this at work: what is written next is left to whichever relay looks first. */
const MAX_AT_WORK = 2000;
/** Events of one UPDATE. */
const SETTLE_LIMIT = 250;

/**
 * News that this process has written itself, under its own lease: it is handed on as soon as it is committed, with no look at the
 * table, and settled together a little later. When the process dies before, its lease passes, and a relay finds it.
 */
export class HandOver implements EventHandOver {
  readonly #owner = randomUUID();
  readonly #db: OrderDb;
  readonly #relay: Relay;
  readonly #logger: Logger;
  readonly #atWork = new Set<Promise<void>>();
  readonly #handled = { sent: [] as LeasedEvent[], away: [] as LeasedEvent[] };

  constructor(db: OrderDb, relay: Relay, logger: Logger) {
    this.#db = db;
    this.#relay = relay;
    this.#logger = logger;
  }

  lease() {
    if (this.#atWork.size >= MAX_AT_WORK || !this.#relay.isReady()) return undefined;
    return { owner: this.#owner, leaseMs: this.#relay.leaseMs };
  }

  push(events: readonly LeasedEvent[]): void {
    // An order waits for no news of another.
    const turn = nextTurn();
    for (const event of events) {
      const work = turn
        .then(() => this.#relay.handle(event))
        .then((what) => void (what !== 'failed' && this.#handled[what].push(event)))
        // It stays leased, and is found when its lease has passed.
        .catch((err: unknown) => this.#logger.warn({ err, event_id: event.eventId }, 'event not settled'))
        .finally(() => this.#atWork.delete(work));
      this.#atWork.add(work);
    }
  }

  /** Settles what was handled since the last time. True: there is more. */
  async settle(): Promise<boolean> {
    const { sent, away } = this.#handled;
    await this.#take(sent, (events) => step('events.settle', () => settleSent(this.#db, events)));
    await this.#take(away, (events) => step('event.give-back', () => giveBack(this.#db, events)));
    return Math.max(sent.length, away.length) >= SETTLE_LIMIT;
  }

  /** What fails is there the next time. */
  async #take(events: LeasedEvent[], settle: (some: readonly LeasedEvent[]) => Promise<void>): Promise<void> {
    const some = events.slice(0, SETTLE_LIMIT);
    if (some.length === 0) return;
    await settle(some);
    events.splice(0, some.length);
  }

  /** Waits for what is at work, and settles it. */
  async stop(): Promise<void> {
    await Promise.all(this.#atWork);
    while (this.#handled.sent.length + this.#handled.away.length > 0) await this.settle();
  }
}
