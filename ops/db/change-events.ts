import type { Sequelize } from 'sequelize';
import { execute, select } from '../../runtime/db/statements.ts';
import { inTransaction } from '../../runtime/db/transaction.ts';
import { orderNoOf } from './find-events.ts';

/** Events of one UPDATE. */
const AT_ONCE = 1_000;

const DUE_NOW = `status = 'WAIT', attempts = 0, next_retry_time = UTC_TIMESTAMP(3), lease_owner = NULL, lease_time = NULL`;
// What a relay has in hand is its own until the lease has passed.
const FREE = '(lease_time IS NULL OR lease_time <= UTC_TIMESTAMP(3))';

/** Makes an event due now, with all its attempts before it. False: it is SENT, or a relay has it in hand, or it is not there. */
export async function requeueEvent(order: Sequelize, eventId: string): Promise<boolean> {
  return (await change(order, DUE_NOW, eventId)) > 0;
}

/**
 * Puts an event aside: no relay takes it until it is requeued, and it holds up no other event of its order. False: it is SENT, or a
 * relay has it in hand, or it is not there.
 */
export async function parkEvent(order: Sequelize, eventId: string): Promise<boolean> {
  return (await change(order, `status = 'PARKED', lease_owner = NULL, lease_time = NULL`, eventId)) > 0;
}

function change(order: Sequelize, set: string, eventId: string): Promise<number> {
  return execute(
    order,
    `UPDATE t_event_record SET ${set} WHERE order_no = ? AND event_id = ? AND status <> 'SENT' AND ${FREE}`,
    [orderNoOf(eventId), eventId],
  );
}

/** Does so with all events that are DEAD, some at a time. Returns how many there were. */
export async function requeueDeadEvents(order: Sequelize): Promise<number> {
  for (let all = 0; ;) {
    const some = await execute(
      order,
      `UPDATE t_event_record SET ${DUE_NOW} WHERE status = 'DEAD' AND ${FREE} ORDER BY order_no, event_id LIMIT ${AT_ONCE}`,
      [],
    );
    all += some;
    if (some < AT_ONCE) return all;
  }
}

/**
 * Stages a STOCK_RESTORE event for a number whose stock is taken for nothing. Nothing happens when there is a claim or an order that
 * is not CANCELLED. An event that is there already is due again; the quantities come from the ledger anyway.
 */
export async function stageRestore(order: Sequelize, orderNo: string, items: readonly object[]): Promise<boolean> {
  return inTransaction(order, async (tx) => {
    const inUse = await select(
      order,
      `SELECT order_no FROM t_order_claim WHERE order_no = ?
        UNION ALL SELECT order_no FROM t_order WHERE order_no = ? AND status <> 'CANCELLED'`,
      [orderNo, orderNo],
      tx,
    );
    if (inUse.length > 0) return false;
    await execute(
      order,
      `INSERT INTO t_event_record (event_id, order_no, event_type, payload) VALUES (?, ?, 'STOCK_RESTORE', ?)
        ON DUPLICATE KEY UPDATE attempts = IF(status = 'SENT', 0, attempts),
          next_retry_time = IF(status = 'SENT', UTC_TIMESTAMP(3), next_retry_time), status = IF(status = 'SENT', 'WAIT', status)`,
      [`${orderNo}.STOCK_RESTORE`, orderNo, JSON.stringify({ order_no: orderNo, items })],
      tx,
    );
    return true;
  });
}
