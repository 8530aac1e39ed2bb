import { duplicateKey } from '../../runtime/db/sql-errors.ts';
import { execute, select } from '../../runtime/db/statements.ts';
import { inTransaction, type Transaction } from '../../runtime/db/transaction.ts';
import type { Order } from '../domain/order.ts';
import { step } from '../domain/steps.ts';
import { orderPayload } from '../domain/order-payload.ts';
import { type Payment, refusalOf } from '../domain/payment.ts';
import type { OrderDb } from './models.ts';
import { insertEvents, type NewEvent } from './order-events.ts';

/** The payment_no is bound already: what it has settled stays so. */
class BoundError extends Error {
  override readonly name = 'BoundError';
}

/** What a payment is bound to, whoever's it is; undefined: to nothing yet. */
export async function findPayment(
  db: OrderDb,
  paymentNo: string,
): Promise<Pick<Payment, 'orderNo' | 'amountCents'> | undefined> {
  const [row] = await select<{ order_no: string; amount_cents: string }>(
    db.sequelize,
    'SELECT order_no, amount_cents FROM t_payment WHERE payment_no = ?',
    [paymentNo],
  );
  return row && { orderNo: row.order_no, amountCents: BigInt(row.amount_cents) };
}

/**
 * Makes the order PAID by this payment, with its event, in one transaction. False: another call was first, with the order or with the
 * payment, and nothing was done.
 *
 * @throws UnknownCommitError: a repeat finds out.
 */
export function payOnce(db: OrderDb, order: Order, payment: Payment): Promise<boolean> {
  return bindOnce(db, 'pay', async (tx) => {
    // This decides; it waits for whoever else is at this order.
    const paid = await execute(
      db.sequelize,
      `UPDATE t_order SET status = 'PAID', pay_time = UTC_TIMESTAMP(3), payment_no = ?
        WHERE order_no = ? AND status = 'WAIT_PAY'`,
      [payment.paymentNo, order.orderNo],
      tx,
    );
    if (paid === 0) return false;
    await bind(db, payment, tx);
    await write(db, { orderNo: order.orderNo, eventType: 'ORDER_PAID', payload: paymentPayload(order, payment) }, tx);
    return true;
  });
}

/**
 * Notes, in one transaction, that the order takes no payment any more and this one has to be given back. False: another call was first
 * with the payment, and nothing was done.
 *
 * @throws UnknownCommitError: a repeat finds out.
 */
export function refuseOnce(db: OrderDb, order: Order, payment: Payment): Promise<boolean> {
  return bindOnce(db, 'refuse-payment', async (tx) => {
    await bind(db, payment, tx);
    const payload = { ...paymentPayload(order, payment), reason: refusalOf(order) };
    const { orderNo } = order;
    await write(db, { orderNo, eventType: 'ORDER_PAYMENT_REFUSED', of: payment.paymentNo, payload }, tx);
    return true;
  });
}

async function bindOnce(
  db: OrderDb,
  name: 'pay' | 'refuse-payment',
  work: (tx: Transaction) => Promise<boolean>,
): Promise<boolean> {
  try {
    return await inTransaction(db.sequelize, work, (commit) => step(name, commit));
  } catch (error) {
    if (error instanceof BoundError) return false;
    throw error;
  }
}

async function bind(db: OrderDb, { paymentNo, orderNo, amountCents }: Payment, tx: Transaction): Promise<void> {
  const sql = 'INSERT INTO t_payment (payment_no, order_no, amount_cents) VALUES (?, ?, ?)';
  try {
    await execute(db.sequelize, sql, [paymentNo, orderNo, amountCents], tx);
  } catch (error) {
    if (duplicateKey(error) === 'PRIMARY') throw new BoundError('payment_no is bound', { cause: error });
    throw error;
  }
}

async function write(db: OrderDb, event: NewEvent, tx: Transaction): Promise<void> {
  const { sql, values } = insertEvents([event]);
  await execute(db.sequelize, sql, values, tx);
}

function paymentPayload(order: Order, { paymentNo, amountCents }: Payment) {
  return { ...orderPayload(order), payment_no: paymentNo, amount_cents: String(amountCents) };
}
