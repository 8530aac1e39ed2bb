import type { ResultSetHeader } from 'mysql2';
import { executeTogether, rowsOf, type Statement } from '../../runtime/db/statements.ts';
import { inTransaction } from '../../runtime/db/transaction.ts';
import { toDecimal } from '../domain/money.ts';
import type { NewOrder, Order } from '../domain/order.ts';
import { orderPayload } from '../domain/order-payload.ts';
import type { OrderDb } from './models.ts';

/** The claim was taken away while its owner was at work: no order may come of it. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
}

type Results = [
  ResultSetHeader,
  ResultSetHeader,
  ResultSetHeader,
  ResultSetHeader,
  { order_no: string; create_time: Date }[],
];

/**
 * Writes orders in place of their claims, in one transaction, all or none: a claim and its order never exist together.
 *
 * @throws ClaimLostError, the driver's duplicate-key error, or UnknownCommitError.
 */
export async function persistOrders(db: OrderDb, orders: readonly NewOrder[]): Promise<Order[]> {
  const orderNos = orders.map((order) => order.orderNo);
  return inTransaction(db.sequelize, async (tx) => {
    const [deleted, , , , rows] = await executeTogether<Results>(
      db.sequelize,
      [
        { sql: 'DELETE FROM t_order_claim WHERE order_no IN (?)', values: [orderNos] },
        insertOrders(orders),
        insertItems(orders),
        insertEvents(orders),
        { sql: 'SELECT order_no, create_time FROM t_order WHERE order_no IN (?)', values: [orderNos] },
      ],
      tx,
    );
    if (deleted.affectedRows !== orders.length) throw new ClaimLostError('the claim was taken away');
    const createTimes = new Map(rows.map((row) => [row.order_no, row.create_time]));
    return orders.map((order) => ({ ...order, status: 'WAIT_PAY', createTime: createTimes.get(order.orderNo)! }));
  });
}

function insertOrders(orders: readonly NewOrder[]): Statement {
  return {
    sql: `INSERT INTO t_order (order_no, user_id, client_request_id, fingerprint, status, total_amount)
      VALUES ${rowsOf("(?, ?, ?, ?, 'WAIT_PAY', ?)", orders.length)}`,
    values: orders.flatMap((order) => [
      order.orderNo,
      order.userId,
      order.clientRequestId === undefined ? null : Buffer.from(order.clientRequestId),
      order.fingerprint,
      toDecimal(order.totalAmountCents),
    ]),
  };
}

function insertItems(orders: readonly NewOrder[]): Statement {
  const rows = orders.flatMap(({ orderNo, items }) =>
    items.map((item, lineNo) => [orderNo, lineNo, item.productId, item.quantity, item.title, item.unitPriceCents]),
  );
  return {
    sql: `INSERT INTO t_order_item (order_no, line_no, product_id, quantity, title, unit_price_cents)
      VALUES ${rowsOf('(?, ?, ?, ?, ?, ?)', rows.length)}`,
    values: rows.flat(),
  };
}

function insertEvents(orders: readonly NewOrder[]): Statement {
  return {
    sql: `INSERT INTO t_event_record (event_id, order_no, event_type, payload)
      VALUES ${rowsOf("(?, ?, 'ORDER_CREATED', ?)", orders.length)}`,
    values: orders.flatMap((order) => [
      `${order.orderNo}.ORDER_CREATED`,
      order.orderNo,
      JSON.stringify(orderPayload(order)),
    ]),
  };
}
