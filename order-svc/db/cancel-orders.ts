import type { ResultSetHeader } from 'mysql2';
import { execute, executeTogether, select, type Statement } from '../../runtime/db/statements.ts';
import { inTransaction } from '../../runtime/db/transaction.ts';
import type { CancelledBy, Order } from '../domain/order.ts';
import { step } from '../domain/steps.ts';
import { orderPayload } from '../domain/order-payload.ts';
import { findOrders } from './find-orders.ts';
import type { OrderDb } from './models.ts';
import { insertEvents } from './order-events.ts';

/**
 * Makes the order CANCELLED by its user, with its events, in one transaction. False: another call was first, and nothing was done.
 *
 * @throws UnknownCommitError: a repeat finds out.
 */
export async function cancelOnce(db: OrderDb, order: Order, reason: string | undefined): Promise<boolean> {
  return inTransaction(
    db.sequelize,
    async (tx) => {
      // This decides; it waits for whoever else is at this order.
      const cancel = cancelStatement([order.orderNo], 'USER', reason);
      if ((await execute(db.sequelize, cancel.sql, cancel.values, tx)) === 0) return false;
      const events = cancelEvents([order], 'USER', reason);
      await execute(db.sequelize, events.sql, events.values, tx);
      return true;
    },
    (commit) => step('cancel', commit),
  );
}

/** The numbers of orders that nobody has paid within so many milliseconds, oldest first, by the database's clock. */
export async function findUnpaid(db: OrderDb, payWindowMs: number, limit: number): Promise<string[]> {
  // The index by name: what this costs must not hang on what the server believes of the table.
  const rows = await select<{ order_no: string }>(
    db.sequelize,
    `SELECT order_no FROM t_order FORCE INDEX (idx_status)
      WHERE status = 'WAIT_PAY' AND create_time <= UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND
      ORDER BY create_time LIMIT ?`,
    [payWindowMs * 1000, limit],
  );
  return rows.map((row) => row.order_no);
}

/**
 * Makes orders CANCELLED since they were not paid in time, with their events, in one transaction. Says of each whether it was; one that
 * is not WAIT_PAY any more, or that another transaction has in hand, is left alone.
 *
 * @throws UnknownCommitError: a later pass finds out.
 */
export async function expireTogether(db: OrderDb, orderNos: readonly string[]): Promise<boolean[]> {
  const orders = await findOrders(db, orderNos);
  const expired = await inTransaction(
    db.sequelize,
    async (tx) => {
      // No wait for a payment at work: it may win, and a batch that waits holds up those after it.
      const rows = await select<{ order_no: string }>(
        db.sequelize,
        `SELECT order_no FROM t_order FORCE INDEX (uk_order_no) WHERE order_no IN (?) AND status = 'WAIT_PAY'
        ORDER BY order_no FOR UPDATE SKIP LOCKED`,
        [orderNos],
        tx,
      );
      const locked = new Set(rows.map((row) => row.order_no));
      const own = orders.filter((order) => locked.has(order.orderNo));
      if (own.length === 0) return own;
      const cancel = cancelStatement(
        own.map((order) => order.orderNo),
        'EXPIRY',
      );
      const statements = [cancel, cancelEvents(own, 'EXPIRY')];
      const [cancelled] = await executeTogether<[ResultSetHeader, ResultSetHeader]>(db.sequelize, statements, tx);
      // Where a server takes SKIP LOCKED and locks nothing, this still decides.
      if (cancelled.affectedRows !== own.length) throw new Error('an order was paid or cancelled under the lock');
      return own;
    },
    (commit) => step('expire', commit),
  );
  const numbers = new Set(expired.map((order) => order.orderNo));
  return orderNos.map((orderNo) => numbers.has(orderNo));
}

function cancelStatement(orderNos: readonly string[], by: CancelledBy, reason?: string): Statement {
  return {
    // The index by name: by idx_status the server would wait at orders that are none of these.
    sql: `UPDATE t_order FORCE INDEX (uk_order_no)
      SET status = 'CANCELLED', cancel_time = UTC_TIMESTAMP(3), cancelled_by = ?, cancel_reason = ?
      WHERE order_no IN (?) AND status = 'WAIT_PAY'`,
    values: [by, reason ?? null, orderNos],
  };
}

/** News for the world, and the job for stock-svc. */
function cancelEvents(orders: readonly Order[], by: CancelledBy, reason?: string): Statement {
  return insertEvents(
    orders.flatMap((order) => {
      const { orderNo } = order;
      const payload = orderPayload(order);
      const { order_no, items } = payload;
      return [
        { orderNo, eventType: 'ORDER_CANCELLED', payload: { ...payload, cancelled_by: by, reason } },
        { orderNo, eventType: 'STOCK_RESTORE', payload: { order_no, items } },
      ];
    }),
  );
}
