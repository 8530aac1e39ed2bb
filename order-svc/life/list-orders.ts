import { findPosition, listOrders } from '../db/list-orders.ts';
import type { OrderDb } from '../db/models.ts';
import type { Order } from '../domain/order.ts';
import { cutPage, type PageQuery, wrongToken } from '../domain/order-page.ts';

/** Above every order. */
const TOP = 2n ** 63n - 1n;

/**
 * One page of a user's orders, newest first. A page goes on below the last order of the one before, and an order never moves: so none
 * that was there when the first page was read is skipped, and none comes twice.
 */
export async function pageOfOrders(db: OrderDb, query: PageQuery): Promise<{ orders: Order[]; nextPageToken: string }> {
  const { userId, status, size, after } = query;
  const below = after === undefined ? TOP : await findPosition(db, userId, after);
  if (below === undefined) throw wrongToken();
  // One more than the page: whether there is another.
  return cutPage(query, await listOrders(db, userId, { status, below, limit: size + 1 }));
}
