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

/** Reads orders with their items, by `order_no` or by `client_request_id`. One that is not there is left out. */
export async function findOrders(
  db: OrderDb,
  column: 'order_no' | 'client_request_id',
  values: readonly string[],
): Promise<Order[]> {
  const rows = await select<OrderRow>(
    db.sequelize,
    `SELECT ${ORDER_COLUMNS}
      FROM t_order o JOIN t_order_item i ON i.order_no = o.order_no
      WHERE o.${column} IN (?) ORDER BY o.order_no, i.line_no`,
    [values.map((value) => (column === 'order_no' ? value : Buffer.from(value)))],
  );
  return toOrders(rows);
}

/** The order of a key, whoever's it is. */
export async function findOrderByKey(db: OrderDb, clientRequestId: string): Promise<Order | undefined> {
  return (await findOrders(db, 'client_request_id', [clientRequestId]))[0];
}

/** The order of a number, whoever's it is. */
export async function findOrderByNo(db: OrderDb, orderNo: string): Promise<Order | undefined> {
  return (await findOrders(db, 'order_no', [orderNo]))[0];
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
