import { randomUUID } from 'node:crypto';
import { execute, jsonOf, select } from '../../runtime/db/statements.ts';
import { step } from '../domain/steps.ts';
import type { OrderDb } from './models.ts';

/** What an event is: news of an order for the world outside, or a job for stock-svc. Neither waits for the other. */
export type EventLane = 'NEWS' | 'JOB';

/** An event that is leased to one relay. */
export interface LeasedEvent {
  /** The same for ever: a consumer can tell a repeat by it. */
  readonly eventId: string;
  readonly orderNo: string;
  readonly eventType: string;
  readonly payload: unknown;
  readonly createTime: Date;
  /** How often it has been tried, this time included. */
  readonly attempts: number;
  /** Who may settle it. */
  readonly leaseOwner: string;
}

/** The right to handle events for a while. */
export interface EventLease {
  readonly owner: string;
  readonly leaseMs: number;
}

/** Takes news from whoever writes it. */
export interface EventHandOver {
  /**
   * The lease that the first event of an order is written with; any other has to wait its turn. Undefined: events are written without
   * one, and left to the relays.
   */
  lease(): EventLease | undefined;
  /** Called when events with a lease are committed. */
  push(events: readonly LeasedEvent[]): void;
}

interface Row {
  event_id: string;
  order_no: string;
  event_type: string;
  payload: unknown;
  create_time: Date;
  attempts: number;
}

// The key is (order_no, event_id). CONCAT keeps the second list out of it: two lists make a range of each pair.
const ONE_OF = "order_no IN (?) AND CONCAT(event_id, '') IN (?)";

// Here and below the index is named, so that no guess of the optimizer ever reads the whole table.
const OLDEST = `AND NOT EXISTS (SELECT 1 FROM t_event_record older FORCE INDEX (PRIMARY)
          WHERE older.order_no = e.order_no AND older.lane = 'NEWS' AND older.status IN ('WAIT', 'DEAD')
            AND (older.create_time, older.event_id) < (e.create_time, e.event_id))`;

/** Characters that `last_error` holds. */
const LAST_ERROR_LENGTH = 512;

/**
 * Leases events that are due, for so many milliseconds; of the news of each order only the oldest, so that one that is DEAD holds up
 * those after it. No lock outlives this call, and an event whose relay died is due again when its lease has passed.
 */
export async function leaseEvents(
  db: OrderDb,
  lane: EventLane,
  limit: number,
  leaseMs: number,
): Promise<LeasedEvent[]> {
  const due = await select<Row>(
    db.sequelize,
    `SELECT e.event_id, e.order_no, e.event_type, e.payload, e.create_time, e.attempts + 1 AS attempts
      FROM t_event_record e FORCE INDEX (idx_status_lane_next_retry_time)
      WHERE e.status = 'WAIT' AND e.lane = ? AND e.next_retry_time <= UTC_TIMESTAMP(3)
        AND (e.lease_time IS NULL OR e.lease_time <= UTC_TIMESTAMP(3))
        ${lane === 'NEWS' ? OLDEST : ''}
      ORDER BY e.next_retry_time LIMIT ?`,
    [lane, limit],
  );
  if (due.length === 0) return [];
  const leaseOwner = randomUUID();
  const keys = [due.map((event) => event.order_no), due.map((event) => event.event_id)];
  const leased = await execute(
    db.sequelize,
    `UPDATE t_event_record FORCE INDEX (PRIMARY) SET lease_owner = ?, attempts = attempts + 1,
        lease_time = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND
      WHERE ${ONE_OF} AND status = 'WAIT' AND next_retry_time <= UTC_TIMESTAMP(3)
        AND (lease_time IS NULL OR lease_time <= UTC_TIMESTAMP(3)) ORDER BY order_no, event_id`,
    [leaseOwner, leaseMs * 1000, ...keys],
  );
  const own = leased === due.length ? due : await onlyOwn(db, due, leaseOwner);
  return own.map((row) => ({
    eventId: row.event_id,
    orderNo: row.order_no,
    eventType: row.event_type,
    payload: jsonOf(row.payload),
    createTime: row.create_time,
    attempts: Number(row.attempts),
    leaseOwner,
  }));
}

/** Some of the events were leased by another relay first. */
async function onlyOwn(db: OrderDb, due: Row[], leaseOwner: string): Promise<Row[]> {
  const rows = await select<{ event_id: string }>(
    db.sequelize,
    `SELECT event_id FROM t_event_record WHERE ${ONE_OF} AND lease_owner = ?`,
    [due.map((event) => event.order_no), due.map((event) => event.event_id), leaseOwner],
  );
  const ids = new Set(rows.map((row) => row.event_id));
  return due.filter((event) => ids.has(event.event_id));
}

/**
 * Settles events that were handled, all of one lease. One whose lease was lost meanwhile is left to its new owner. From then on
 * `next_retry_time` says when that was.
 */
export async function settleSent(db: OrderDb, events: readonly LeasedEvent[]): Promise<void> {
  await settle(db, events, "status = 'SENT', next_retry_time = UTC_TIMESTAMP(3)");
}

/** Gives events back that nobody could take, all of one lease: they are due at once, and were not tried. */
export async function giveBack(db: OrderDb, events: readonly LeasedEvent[]): Promise<void> {
  await settle(db, events, 'attempts = attempts - 1');
}

async function settle(db: OrderDb, events: readonly LeasedEvent[], change: string): Promise<void> {
  await execute(
    db.sequelize,
    `UPDATE t_event_record SET ${change}, lease_owner = NULL, lease_time = NULL
      WHERE ${ONE_OF} AND lease_owner = ? ORDER BY order_no, event_id`,
    [events.map((event) => event.orderNo), events.map((event) => event.eventId), events[0]!.leaseOwner],
  );
}

/** Gives an event back, to be tried again after so many milliseconds; undefined: never, a person has to look at it. */
export async function settleFailed(
  db: OrderDb,
  event: LeasedEvent,
  retryMs: number | undefined,
  error: unknown,
): Promise<void> {
  await execute(
    db.sequelize,
    `UPDATE t_event_record SET status = ?, last_error = ?, lease_owner = NULL, lease_time = NULL,
        next_retry_time = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND
      WHERE order_no = ? AND event_id = ? AND lease_owner = ?`,
    [
      retryMs === undefined ? 'DEAD' : 'WAIT',
      String(error).slice(0, LAST_ERROR_LENGTH).toWellFormed(),
      Math.round((retryMs ?? 0) * 1000),
      event.orderNo,
      event.eventId,
      event.leaseOwner,
    ],
  );
}

/**
 * Deletes events that were sent more than so many milliseconds ago, some of each lane. Any number may do so at once. True: there may be
 * more.
 */
export async function deleteSent(db: OrderDb, retentionMs: number, limit: number): Promise<boolean> {
  let more = false;
  for (const lane of ['NEWS', 'JOB']) {
    // By key then: a range that is locked would hold up those who settle.
    const old = await select<{ order_no: string; event_id: string }>(
      db.sequelize,
      `SELECT order_no, event_id FROM t_event_record FORCE INDEX (idx_status_lane_next_retry_time)
        WHERE status = 'SENT' AND lane = ? AND next_retry_time < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND
        ORDER BY next_retry_time LIMIT ?`,
      [lane, retentionMs * 1000, limit],
    );
    more ||= old.length === limit;
    if (old.length === 0) continue;
    const sql = `DELETE FROM t_event_record WHERE ${ONE_OF} AND status = 'SENT' ORDER BY order_no, event_id`;
    const values = [old.map((event) => event.order_no), old.map((event) => event.event_id)];
    await step('events.delete', () => execute(db.sequelize, sql, values));
  }
  return more;
}
