import type { OrderDb } from '../db/models.ts';
import { findPayment, payOnce, refuseOnce } from '../db/payments.ts';
import type { Order } from '../domain/order.ts';
import { checkAmount, checkSamePayment, type Payment, refusalOf } from '../domain/payment.ts';
import { orderError } from '../domain/reasons.ts';
import { ownOrder } from './own-order.ts';

/**
 * Books a payment, once: it pays its order, or it is refused and has to be given back. Each is one transaction, so that a call that
 * breaks off anywhere has done all or nothing, and its repeat finds out which.
 */
export async function payOrder(
  db: OrderDb,
  payment: Payment,
  signal: AbortSignal,
): Promise<{ order: Order; replayed: boolean }> {
  for (;;) {
    signal.throwIfAborted();
    // In this order: what binds a payment also settles its order, so that the order is read as it stays.
    const bound = await findPayment(db, payment.paymentNo);
    const order = await ownOrder(db, payment.userId, payment.orderNo);
    if (bound) {
      checkSamePayment(bound, payment);
      if (order.paid?.paymentNo !== payment.paymentNo) throw refused(order);
      return { order, replayed: true };
    }
    if (order.status === 'WAIT_PAY') {
      checkAmount(order, payment);
      const paid = await payOnce(db, order, payment);
      if (paid) return { order: await ownOrder(db, payment.userId, payment.orderNo), replayed: false };
    } else if (await refuseOnce(db, order, payment)) {
      throw refused(order);
    }
    // Another call was first, with this order or with this payment.
  }
}

function refused(order: Order) {
  const reason = refusalOf(order);
  const state = reason === 'ORDER_ALREADY_PAID' ? 'paid by another payment' : 'cancelled';
  return orderError(reason, `the order is ${state}: this payment has to be given back`);
}
