import { type Backoff, fullJitterMs } from '../../runtime/lifecycle/backoff.ts';
import type { Logger } from '../../runtime/lifecycle/logger.ts';
import { type LeasedEvent, leaseEvents, settleFailed, settleSent } from '../db/events.ts';
import type { OrderDb } from '../db/models.ts';

/** How a relay works. */
export interface RelayOptions {
  /** Does what an event asks for. Must be harmless when repeated, and be over before the lease is. */
  handle: (event: LeasedEvent) => Promise<void>;
  /** Events of one pass. Default 250. */
  limit?: number;
  /** Milliseconds until an event whose relay died is due again. Default 30,000. */
  leaseMs?: number;
  /** After this many attempts an event is DEAD. Default 50: about four hours with the default back-off. */
  maxAttempts?: number;
  /** Default 200 ms doubling up to 10 minutes, with full jitter. */
  backoff?: Backoff;
  logger: Logger;
}

/** One pass of the relay: leases what is due, handles it, settles it. True: there may be more. Any number may run. */
export async function relayOnce(db: OrderDb, options: RelayOptions): Promise<boolean> {
  const { handle, limit = 250, leaseMs = 30_000, maxAttempts = 50, logger } = options;
  const backoff = options.backoff ?? { baseMs: 200, maxMs: 600_000 };
  const events = await leaseEvents(db, limit, leaseMs);
  const sent: LeasedEvent[] = [];
  await Promise.all(
    events.map(async (event) => {
      const line = { event_id: event.eventId, order_no: event.orderNo, attempts: event.attempts };
      try {
        await handle(event);
        sent.push(event);
      } catch (err) {
        const dead = event.attempts >= maxAttempts;
        await settleFailed(db, event, dead ? undefined : fullJitterMs(event.attempts - 1, backoff), err);
        if (dead) logger.error({ ...line, err }, 'event is DEAD: a person has to look at it');
        else logger.warn({ ...line, err }, 'event failed, will be tried again');
      }
    }),
  );
  await settleSent(db, sent);
  return events.length === limit;
}
