import { findOrderByNo } from '../db/find-orders.ts';
import type { OrderDb } from '../db/models.ts';
import type { Order } from '../domain/order.ts';
import { orderError } from '../domain/reasons.ts';

/** An order of the user. Another user's is not there, as far as this one is told. */
export async function ownOrder(db: OrderDb, userId: bigint, orderNo: string): Promise<Order> {
  const order = await findOrderByNo(db, orderNo);
  if (order?.userId !== userId) throw orderError('ORDER_NOT_FOUND', 'there is no such order');
  return order;
}
