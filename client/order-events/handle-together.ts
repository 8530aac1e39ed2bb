import type { Pool, PoolConnection } from 'mysql2/promise';
import type { OrderEvent } from '../../gen/ordersystem/order/v1/order_event_pb.ts';
import { type ArrivedEvent, readEvent } from './arrived-event.ts';
import { findHeldOrders, insertDead } from './dead-events.ts';
import { lockAhead, movePlace } from './place.ts';
import { inTransaction, rowsOf } from './tables.ts';

/** Does what an event asks for, in the transaction that it is given, which it must not end. */
export type EventHandler = (event: OrderEvent, tx: PoolConnection) => Promise<void>;

/** Whose events they are. */
export interface Consumer {
  /**
   * The consumer's name, 1 to 64 of `A-Z a-z 0-9 . _ -`: its place in the stream is kept under it. Under a new name all events come
   * again that the stream still has.
   */
  durable: string;
  /** A pool of mysql2 on the consumer's own database. Three tables are made in it. */
  db: Pool;
  /** Does what an event asks for, in the transaction that it is given. */
  handle: EventHandler;
}

/** The handler failed on an event, or the event could not be read. `cause` has why. */
export class EventFailedError extends Error {
  override readonly name = 'EventFailedError';
}

/** Days until an event_id is forgotten: longer than a stream keeps events, so that one that comes twice is known. */
const REMEMBER_DAYS = 30;

/**
 * Handles events in one transaction, all or none. Those that were handled before are passed over.
 *
 * @throws EventFailedError when it is an event's fault; any other error is the database's.
 */
export async function handleTogether(
  { durable, db, handle }: Consumer,
  stream: string,
  events: readonly ArrivedEvent[],
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const ahead = await lockAhead(tx, durable, stream, events);
    const last = ahead.at(-1);
    if (!last) return;
    const known = await findHandled(tx, durable, ahead);
    const held = await findHeldOrders(tx, durable, ahead);
    const done: ArrivedEvent[] = [];
    for (const event of ahead) {
      if (known.has(event.id)) continue;
      known.add(event.id);
      done.push(event);
      if (held.has(event.orderNo)) await insertDead(tx, durable, event, 'an earlier event of the order was put aside');
      else await handleOne(handle, event, tx);
    }
    await insertHandled(tx, durable, done);
    await movePlace(tx, durable, last);
    await forgetHandled(tx, durable, 2 * ahead.length);
  });
}

/** @throws EventFailedError, unless the transaction is lost. */
export async function handleOne(
  handle: EventHandler,
  event: Pick<ArrivedEvent, 'contentType' | 'data'>,
  tx: PoolConnection,
): Promise<void> {
  try {
    await handle(readEvent(event), tx);
  } catch (cause) {
    // Nothing that is done on a lost connection says anything of the event.
    await tx.ping();
    throw new EventFailedError('the handler failed', { cause });
  }
}

async function findHandled(tx: PoolConnection, durable: string, events: readonly ArrivedEvent[]) {
  const sql = 'SELECT event_id FROM t_handled_event WHERE durable = ? AND event_id IN (?)';
  const rows = await rowsOf<{ event_id: string }>(tx, sql, [durable, events.map((event) => event.id)]);
  return new Set(rows.map((row) => row.event_id));
}

export async function insertHandled(tx: PoolConnection, durable: string, events: readonly ArrivedEvent[]) {
  if (events.length === 0) return;
  const rows = events.map((event) => [durable, event.id]);
  await tx.query('INSERT INTO t_handled_event (durable, event_id) VALUES ?', [rows]);
}

/** A few at a time, as fast as others are added. */
async function forgetHandled(tx: PoolConnection, durable: string, limit: number) {
  const sql = `DELETE FROM t_handled_event WHERE durable = ? AND handled_time < NOW(3) - INTERVAL ? DAY
    ORDER BY handled_time LIMIT ?`;
  await tx.query(sql, [durable, REMEMBER_DAYS, limit]);
}
