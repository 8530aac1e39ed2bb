import { select } from '../../runtime/db/statements.ts';
import { toCents } from '../domain/money.ts';
import type { CancelledBy, Order, OrderStatus } from '../domain/order.ts';
import type { OrderDb } from './models.ts';

/** A line of an order, with the order that it is of. */
export interface OrderRow {
  order_no: string;
  user_id: string;
  client_request_id: Buffer | null;
  fingerprint: Buffer;
  status: OrderStatus;
  total_amount: string;
  create_time: Date;
  pay_time: Date | null;
  payment_no: string | null;
  cancel_time: Date | null;
  cancelled_by: CancelledBy | null;
  cancel_reason: string | null;
  product_id: string;
  quantity: string;
  title: string;
  unit_price_cents: string;
}

/** What `toOrders` needs of `t_order o` and `t_order_item i`. */
export const ORDER_COLUMNS = `o.order_no, o.user_id, o.client_request_id, o.fingerprint, o.status, o.total_amount, o.create_time,
  o.pay_time, o.payment_no, o.cancel_time, o.cancelled_by, o.cancel_reason, i.product_id, i.quantity, i.title, i.unit_price_cents`;

/** Reads orders with their items, whoever's they are. One that is not there is left out. */
export async function findOrders(db: OrderDb, orderNos: readonly string[]): Promise<Order[]> {
  const rows = await select<OrderRow>(
    db.sequelize,
    `SELECT ${ORDER_COLUMNS}
      FROM t_order o JOIN t_order_item i ON i.order_no = o.order_no
      WHERE o.order_no IN (?) ORDER BY o.order_no, i.line_no`,
    [orderNos],
  );
  return toOrders(rows);
}

/**
 * Reads the orders of keys, whoever's they are. Looks first whether there are any: most keys are new, and this look costs the database
 * half of what the join does that finds nothing.
 */
export async function findOrdersByKey(db: OrderDb, keys: readonly string[]): Promise<Order[]> {
  const rows = await select<{ order_no: string }>(
    db.sequelize,
    'SELECT order_no FROM t_order WHERE client_request_id IN (?)',
    [keys.map((key) => Buffer.from(key))],
  );
  if (rows.length === 0) return [];
  return findOrders(
    db,
    rows.map((row) => row.order_no),
  );
}

/** The order of a key, whoever's it is. */
export async function findOrderByKey(db: OrderDb, clientRequestId: string): Promise<Order | undefined> {
  return (await findOrdersByKey(db, [clientRequestId]))[0];
}

/** The order of a number, whoever's it is. */
export async function findOrderByNo(db: OrderDb, orderNo: string): Promise<Order | undefined> {
  return (await findOrders(db, [orderNo]))[0];
}

/** The orders that the rows are of, in the order of the rows. */
export function toOrders(rows: readonly OrderRow[]): Order[] {
  return [...Map.groupBy(rows, (row) => row.order_no).values()].map(toOrder);
}

function toOrder(rows: OrderRow[]): Order {
  const row = rows[0]!;
  return {
    orderNo: row.order_no,
    userId: BigInt(row.user_id),
    clientRequestId: row.client_request_id?.toString(),
    fingerprint: row.fingerprint,
    status: row.status,
    totalAmountCents: toCents(row.total_amount),
    createTime: row.create_time,
    paid: row.pay_time ? { paymentNo: row.payment_no!, time: row.pay_time } : undefined,
    cancelled: row.cancel_time
      ? { by: row.cancelled_by!, reason: row.cancel_reason ?? undefined, time: row.cancel_time }
      : undefined,
    items: rows.map((item) => ({
      productId: BigInt(item.product_id),
      quantity: BigInt(item.quantity),
      title: item.title,
      unitPriceCents: BigInt(item.unit_price_cents),
    })),
  };
}
