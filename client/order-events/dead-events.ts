import type { PoolConnection } from 'mysql2/promise';
import type { ArrivedEvent } from './arrived-event.ts';
import { rowsOf } from './tables.ts';

/** An event that was put aside. */
export interface DeadEvent {
  /** Grows in the order in which they were put aside. */
  readonly deadId: string;
  readonly orderNo: string;
  readonly contentType: string;
  readonly data: Uint8Array;
}

const MAX_ERROR_LENGTH = 10_000;

export async function insertDead(tx: PoolConnection, durable: string, event: ArrivedEvent, why: string): Promise<void> {
  const { id, orderNo, contentType, data } = event;
  const row = [durable, id, orderNo, contentType, Buffer.from(data), why.slice(0, MAX_ERROR_LENGTH)];
  await tx.query('INSERT INTO t_dead_event (durable, event_id, order_no, content_type, data, error) VALUES (?)', [row]);
}

/** The orders, of those that the events are of, of which an event was put aside. */
export async function findHeldOrders(tx: PoolConnection, durable: string, events: readonly ArrivedEvent[]) {
  const sql = 'SELECT DISTINCT order_no FROM t_dead_event WHERE durable = ? AND order_no IN (?)';
  const rows = await rowsOf<{ order_no: string }>(tx, sql, [durable, events.map((event) => event.orderNo)]);
  return new Set(rows.map((row) => row.order_no));
}

/** The next event that was put aside after another, kept from others until the transaction ends. */
export async function lockNextDead(tx: PoolConnection, durable: string, after: string): Promise<DeadEvent | undefined> {
  const sql = `SELECT CAST(id AS CHAR) AS deadId, order_no AS orderNo, content_type AS contentType, data
    FROM t_dead_event WHERE durable = ? AND id > ? ORDER BY id LIMIT 1 FOR UPDATE`;
  return (await rowsOf<DeadEvent>(tx, sql, [durable, after]))[0];
}

export async function deleteDead(tx: PoolConnection, { deadId }: DeadEvent): Promise<void> {
  await tx.query('DELETE FROM t_dead_event WHERE id = ?', [deadId]);
}
