import { select } from '../../runtime/db/statements.ts';
import type { Order, OrderStatus } from '../domain/order.ts';
import { ORDER_COLUMNS, type OrderRow, toOrders } from './find-orders.ts';
import type { OrderDb } from './models.ts';

const STATUSES: readonly OrderStatus[] = ['WAIT_PAY', 'PAID', 'CANCELLED'];

/** Where in the user's list an order of his stands; undefined: it is not his. */
export async function findPosition(db: OrderDb, userId: bigint, orderNo: string): Promise<bigint | undefined> {
  const sql = 'SELECT id FROM t_order WHERE order_no = ? AND user_id = ?';
  const [row] = await select<{ id: string }>(db.sequelize, sql, [orderNo, userId]);
  return row && BigInt(row.id);
}

/** The user's orders with their items, newest first, from below a position on. */
export async function listOrders(
  db: OrderDb,
  userId: bigint,
  { status, below, limit }: { status: OrderStatus | undefined; below: bigint; limit: number },
): Promise<Order[]> {
  // The newest of each status, then the newest of those: one index serves both kinds of list, and never gives more rows than asked for.
  const statuses = status === undefined ? STATUSES : [status];
  const newest = `(SELECT id FROM t_order FORCE INDEX (idx_user_id) WHERE user_id = ? AND status = ? AND id < ?
    ORDER BY id DESC LIMIT ?)`;
  const rows = await select<OrderRow>(
    db.sequelize,
    `SELECT ${ORDER_COLUMNS}
      FROM (SELECT id FROM (${statuses.map(() => newest).join(' UNION ALL ')}) newest ORDER BY id DESC LIMIT ?) page
        JOIN t_order o ON o.id = page.id JOIN t_order_item i ON i.order_no = o.order_no
      ORDER BY o.id DESC, i.line_no`,
    [...statuses.flatMap((one) => [userId, one, below, limit]), limit],
  );
  return toOrders(rows);
}
