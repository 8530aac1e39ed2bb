import { randomUUID } from 'node:crypto';
import type { EventHandOver, LeasedEvent } from '../db/events.ts';
import { settleSent } from '../db/events.ts';
import type { OrderDb } from '../db/models.ts';
import { handleLeased, type RelayOptions } from './relay.ts';

/** More events than this at work: what is written next is left to whichever relay looks first. */
const MAX_AT_WORK = 2000;
/** Events of one UPDATE. */
const SETTLE_LIMIT = 250;

/**
 * Events that this process has written itself, under its own lease: they are handled as soon as they are committed, with no look at the
 * table, and settled together a little later. When the process dies before, their lease passes, and a relay finds them.
 */
export class HandOver implements EventHandOver {
  readonly #owner = randomUUID();
  readonly #db: OrderDb;
  readonly #options: RelayOptions;
  readonly #atWork = new Set<Promise<void>>();
  #sent: LeasedEvent[] = [];

  constructor(db: OrderDb, options: RelayOptions) {
    this.#db = db;
    this.#options = options;
  }

  lease() {
    if (this.#atWork.size >= MAX_AT_WORK) return undefined;
    return { owner: this.#owner, leaseMs: this.#options.leaseMs };
  }

  push(events: readonly LeasedEvent[]): void {
    for (const event of events) {
      const work = handleLeased(this.#db, event, this.#options)
        .then((sent) => void (sent && this.#sent.push(event)))
        // It stays leased, and is found when its lease has passed.
        .catch((err: unknown) => this.#options.logger.warn({ err, event_id: event.eventId }, 'event not settled'))
        .finally(() => this.#atWork.delete(work));
      this.#atWork.add(work);
    }
  }

  /** Settles what was handled since the last time. True: there is more. */
  async settle(): Promise<boolean> {
    const events = this.#sent.slice(0, SETTLE_LIMIT);
    await settleSent(this.#db, events);
    this.#sent = this.#sent.slice(events.length);
    return this.#sent.length >= SETTLE_LIMIT;
  }

  /** Waits for what is at work, and settles it. */
  async stop(): Promise<void> {
    await Promise.all(this.#atWork);
    while (this.#sent.length > 0) await this.settle();
  }
}
