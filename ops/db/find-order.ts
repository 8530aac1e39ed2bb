import type { Sequelize } from 'sequelize';
import { select } from '../../runtime/db/statements.ts';

export interface Order {
  readonly order_no: string;
  readonly user_id: string;
  readonly client_request_id: string | null;
  readonly status: string;
  readonly total_amount_cents: string;
  readonly create_time: Date;
  readonly pay_time: Date | null;
  readonly payment_no: string | null;
  readonly cancel_time: Date | null;
  readonly cancelled_by: string | null;
  readonly cancel_reason: string | null;
  readonly items: Item[];
}

interface Item {
  readonly product_id: string;
  readonly quantity: string;
  readonly unit_price_cents: string;
  readonly title: string;
}

export async function findOrder(order: Sequelize, orderNo: string): Promise<Order | undefined> {
  const [row] = await select<Omit<Order, 'client_request_id' | 'items'> & { client_request_id: Buffer | null }>(
    order,
    `SELECT order_no, user_id, client_request_id, status, CAST(total_amount * 100 AS SIGNED) AS total_amount_cents,
        create_time, pay_time, payment_no, cancel_time, cancelled_by, cancel_reason FROM t_order WHERE order_no = ?`,
    [orderNo],
  );
  if (!row) return undefined;
  const items = await select<Item>(
    order,
    'SELECT product_id, quantity, unit_price_cents, title FROM t_order_item WHERE order_no = ? ORDER BY line_no',
    [orderNo],
  );
  return { ...row, client_request_id: row.client_request_id?.toString() ?? null, items };
}

/** The number of the order of a key. */
export async function findOrderNo(order: Sequelize, clientRequestId: string): Promise<string | undefined> {
  const sql = 'SELECT order_no FROM t_order WHERE client_request_id = ?';
  return (await select<{ order_no: string }>(order, sql, [Buffer.from(clientRequestId)]))[0]?.order_no;
}
