import { type Backoff, fullJitterMs } from '../../runtime/lifecycle/backoff.ts';
import type { Logger } from '../../runtime/lifecycle/logger.ts';
import { type LeasedEvent, leaseEvents, settleFailed, settleSent } from '../db/events.ts';
import type { OrderDb } from '../db/models.ts';

/** How events are handed on. */
export interface RelayOptions {
  /** Does what an event asks for. Must be harmless when repeated, and be over before the lease is. */
  handle: (event: LeasedEvent) => Promise<void>;
  /** Events of one pass. Default 250. */
  limit?: number;
  /** Milliseconds until an event whose relay died is due again. */
  leaseMs: number;
  /** After this many attempts an event is DEAD. */
  maxAttempts: number;
  /** Default 200 ms doubling up to 10 minutes, with full jitter. */
  backoff?: Backoff;
  logger: Logger;
}

/**
 * One pass of the relay: leases what is due, handles it, settles it. True: there may be more. Any number may run. It finds what
 * nobody has in hand: events that failed before, and those of processes that have died.
 */
export async function relayOnce(db: OrderDb, options: RelayOptions): Promise<boolean> {
  const { limit = 250, leaseMs } = options;
  const events = await leaseEvents(db, limit, leaseMs);
  const sent = await Promise.all(events.map((event) => handleLeased(db, event, options)));
  await settleSent(
    db,
    events.filter((_, i) => sent[i]),
  );
  return events.length === limit;
}

/** Handles one event. True: it is to be settled as sent. False: it was given back, to be tried again later or never. */
export async function handleLeased(db: OrderDb, event: LeasedEvent, options: RelayOptions): Promise<boolean> {
  const { handle, maxAttempts, logger, backoff = { baseMs: 200, maxMs: 600_000 } } = options;
  try {
    await handle(event);
    return true;
  } catch (err) {
    const dead = event.attempts >= maxAttempts;
    await settleFailed(db, event, dead ? undefined : fullJitterMs(event.attempts - 1, backoff));
    const line = { event_id: event.eventId, order_no: event.orderNo, attempts: event.attempts, err };
    if (dead) logger.error(line, 'event is DEAD: a person has to look at it');
    else logger.warn(line, 'event failed, will be tried again');
    return false;
  }
}
