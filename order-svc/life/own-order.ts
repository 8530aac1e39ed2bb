import { findOrderByNo } from '../db/find-orders.ts';
import type { OrderDb } from '../db/models.ts';
import type { Order } from '../domain/order.ts';
import { orderError } from '../domain/reasons.ts';

/** The order that a number was found to be, when it is the user's. Another user's is not there, as far as this one is told. */
export function ofUser(userId: bigint, found: Order | undefined): Order {
  if (found?.userId !== userId) throw orderError('ORDER_NOT_FOUND', 'there is no such order');
  return found;
}

/** An order of the user, read now. */
export async function ownOrder(db: OrderDb, userId: bigint, orderNo: string): Promise<Order> {
  return ofUser(userId, await findOrderByNo(db, orderNo));
}
