import { cancelOnce } from '../db/cancel-orders.ts';
import type { OrderDb } from '../db/models.ts';
import type { Cancellation } from '../domain/cancellation.ts';
import type { Order } from '../domain/order.ts';
import { orderError } from '../domain/reasons.ts';
import { ownOrder } from './own-order.ts';

/** Cancels an order for its user, unless it is paid. It is one transaction: a call that breaks off has done all or nothing. */
export async function cancelOrder(
  db: OrderDb,
  { userId, orderNo, reason }: Cancellation,
): Promise<{ order: Order; replayed: boolean }> {
  const found = await ownOrder(db, userId, orderNo);
  const first = found.status === 'WAIT_PAY' && (await cancelOnce(db, found, reason));
  // From here on it is PAID or CANCELLED, and stays so.
  const order = found.status === 'WAIT_PAY' ? await ownOrder(db, userId, orderNo) : found;
  if (order.status === 'PAID') throw orderError('ORDER_NOT_CANCELLABLE', 'the order is paid');
  return { order, replayed: !first };
}
