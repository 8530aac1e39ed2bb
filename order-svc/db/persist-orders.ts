import type { Transaction } from 'sequelize';
import { execute, rowsOf } from '../../runtime/db/statements.ts';
import { inTransaction } from '../../runtime/db/transaction.ts';
import { toDecimal } from '../domain/money.ts';
import type { NewOrder, Order } from '../domain/order.ts';
import type { OrderDb } from './models.ts';

/** The claim was taken away while its owner was at work: no order may come of it. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
}

/**
 * Writes orders in place of their claims, in one transaction, all or none: a claim and its order never exist together.
 *
 * @throws ClaimLostError, the driver's duplicate-key error, or UnknownCommitError.
 */
export async function persistOrders(db: OrderDb, orders: readonly NewOrder[]): Promise<Order[]> {
  const orderNos = orders.map((order) => order.orderNo);
  return inTransaction(db.sequelize, async (tx) => {
    const claims = await execute(db.sequelize, 'DELETE FROM t_order_claim WHERE order_no IN (?)', [orderNos], tx);
    if (claims !== orders.length) throw new ClaimLostError('the claim was taken away');
    await insertOrders(db, orders, tx);
    await insertItems(db, orders, tx);
    await insertEvents(db, orders, tx);
    const rows = await db.Order.findAll({
      where: { order_no: orderNos },
      attributes: ['order_no', 'create_time'],
      raw: true,
      transaction: tx,
    });
    const createTimes = new Map(rows.map((row) => [row.order_no, row.create_time!]));
    return orders.map((order) => ({ ...order, status: 'WAIT_PAY', createTime: createTimes.get(order.orderNo)! }));
  });
}

async function insertOrders(db: OrderDb, orders: readonly NewOrder[], tx: Transaction): Promise<void> {
  await execute(
    db.sequelize,
    `INSERT INTO t_order (order_no, user_id, client_request_id, fingerprint, status, total_amount)
      VALUES ${rowsOf("(?, ?, ?, ?, 'WAIT_PAY', ?)", orders.length)}`,
    orders.flatMap((order) => [
      order.orderNo,
      order.userId,
      order.clientRequestId === undefined ? null : Buffer.from(order.clientRequestId),
      order.fingerprint,
      toDecimal(order.totalAmountCents),
    ]),
    tx,
  );
}

async function insertItems(db: OrderDb, orders: readonly NewOrder[], tx: Transaction): Promise<void> {
  const rows = orders.flatMap(({ orderNo, items }) =>
    items.map((item, lineNo) => [orderNo, lineNo, item.productId, item.quantity, item.title, item.unitPriceCents]),
  );
  await execute(
    db.sequelize,
    `INSERT INTO t_order_item (order_no, line_no, product_id, quantity, title, unit_price_cents)
      VALUES ${rowsOf('(?, ?, ?, ?, ?, ?)', rows.length)}`,
    rows.flat(),
    tx,
  );
}

async function insertEvents(db: OrderDb, orders: readonly NewOrder[], tx: Transaction): Promise<void> {
  await execute(
    db.sequelize,
    `INSERT INTO t_event_record (event_id, order_no, event_type, payload)
      VALUES ${rowsOf("(?, ?, 'ORDER_CREATED', ?)", orders.length)}`,
    orders.flatMap((order) => [`${order.orderNo}.ORDER_CREATED`, order.orderNo, createdPayload(order)]),
    tx,
  );
}

function createdPayload(order: NewOrder): string {
  return JSON.stringify({
    order_no: order.orderNo,
    user_id: String(order.userId),
    client_request_id: order.clientRequestId,
    total_amount_cents: String(order.totalAmountCents),
    items: order.items.map((item) => ({
      product_id: String(item.productId),
      quantity: String(item.quantity),
      title: item.title,
      unit_price_cents: String(item.unitPriceCents),
    })),
  });
}
