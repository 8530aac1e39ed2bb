import type { EventLane, LeasedEvent } from '../../../order-svc/db/events.ts';
import type { OrderDb } from '../../../order-svc/db/models.ts';
import { Relay, type RelayOptions } from '../../../order-svc/outbox/relay.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import type { System } from '../../support/system.ts';

// As many digits for all: what is due at the same time is taken in the order of the numbers, which are text.
let last = 1_000_000;

/** The number of an order that is in no table: the audit does not miss it. */
export const newOrderNo = () => String(++last);

/** Writes an event as if it had been committed just now, with no lease. Returns its event_id. */
export async function writeEvent(
  { orderDb }: Pick<System, 'orderDb'>,
  orderNo = newOrderNo(),
  eventType = 'ORDER_TEST',
  more: { payload?: object; create_time?: Date } = {},
): Promise<string> {
  const eventId = `${orderNo}.${eventType}`;
  const row = { event_id: eventId, order_no: orderNo, event_type: eventType, payload: { some: 'thing' } };
  await orderDb.EventRecord.create({ ...row, create_time: new Date(), ...more });
  return eventId;
}

/** A payload as CreateOrder writes it. */
export const payloadOf = (orderNo: string, userId = 42) => ({
  order_no: orderNo,
  user_id: String(userId),
  client_request_id: `key-${orderNo}`,
  total_amount_cents: '500',
  items: [{ product_id: '1', quantity: '2', title: 'Tea', unit_price_cents: '250' }],
});

/** How an event stands. */
export async function eventState({ orderDb }: Pick<System, 'orderDb'>, eventId: string) {
  const row = await orderDb.EventRecord.findOne({ where: { event_id: eventId }, raw: true, rejectOnEmpty: true });
  const { status, attempts } = row;
  return { status, attempts, due: row.next_retry_time!.getTime() <= Date.now() && !row.lease_time };
}

/** Every event that waits is due, as if its back-off and its lease had passed. */
export async function makeDue({ orderDb }: Pick<System, 'orderDb'>): Promise<void> {
  const due = { next_retry_time: new Date(0), lease_time: null };
  await orderDb.EventRecord.update(due, { where: { status: 'WAIT' } });
}

/** A relay whose passes the test runs. */
export function newRelay(
  orderDb: OrderDb,
  handle: (event: LeasedEvent) => Promise<void>,
  options: Partial<RelayOptions> & { lane?: EventLane } = {},
): Relay {
  return new Relay(orderDb, {
    lane: 'NEWS',
    handle,
    leaseMs: 30_000,
    maxAttempts: 50,
    logger: silentLogger,
    ...options,
  });
}
