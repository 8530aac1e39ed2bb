import type { Sequelize } from 'sequelize';
import { jsonOf, select } from '../../runtime/db/statements.ts';

export const eventStatuses = ['WAIT', 'DEAD', 'PARKED', 'SENT'] as const;
export type EventStatus = (typeof eventStatuses)[number];

export interface Event {
  readonly event_id: string;
  readonly order_no: string;
  readonly event_type: string;
  readonly status: EventStatus;
  readonly attempts: number;
  readonly create_time: Date;
  /** When it is, or was, due. */
  readonly next_retry_time: Date;
  /** Until then a relay has it in hand. */
  readonly lease_time: Date | null;
  readonly last_error: string | null;
}

const COLUMNS = `event_id, order_no, event_type, status, attempts, create_time, next_retry_time, lease_time, last_error`;

/** The events of an order, in the order in which they are handed on. */
export function findEventsOf(order: Sequelize, orderNo: string): Promise<Event[]> {
  const sql = `SELECT ${COLUMNS} FROM t_event_record WHERE order_no = ? ORDER BY create_time, event_id`;
  return select<Event>(order, sql, [orderNo]);
}

/** Events of these statuses, the oldest first. */
export function findEvents(
  order: Sequelize,
  { statuses, type, limit }: { statuses: readonly EventStatus[]; type?: string | undefined; limit: number },
): Promise<Event[]> {
  return select<Event>(
    order,
    `SELECT ${COLUMNS} FROM t_event_record WHERE status IN (?) ${type === undefined ? '' : 'AND event_type = ?'}
      ORDER BY create_time, event_id LIMIT ?`,
    [statuses, ...(type === undefined ? [] : [type]), limit],
  );
}

/** How many events of these statuses there are, and of which type. */
export async function countEvents(
  order: Sequelize,
  statuses: readonly EventStatus[],
): Promise<{ status: EventStatus; event_type: string; events: number }[]> {
  const rows = await select<{ status: EventStatus; event_type: string; events: string }>(
    order,
    `SELECT status, event_type, COUNT(*) AS events FROM t_event_record WHERE status IN (?)
      GROUP BY status, event_type ORDER BY status, event_type`,
    [statuses],
  );
  return rows.map((row) => ({ ...row, events: Number(row.events) }));
}

/** One event, with what its handler needs. */
export async function findEvent(
  order: Sequelize,
  eventId: string,
): Promise<(Event & { payload: unknown }) | undefined> {
  const [row] = await select<Event & { payload: unknown }>(
    order,
    `SELECT ${COLUMNS}, payload FROM t_event_record WHERE order_no = ? AND event_id = ?`,
    [orderNoOf(eventId), eventId],
  );
  return row && { ...row, payload: jsonOf(row.payload) };
}

/** An event_id begins with its order_no: the primary key is of both. */
export function orderNoOf(eventId: string): string {
  return eventId.split('.', 1)[0]!;
}
