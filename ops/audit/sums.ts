import type { Sequelize } from 'sequelize';
import { select } from '../../runtime/db/statements.ts';
import type { Finding } from './findings.ts';

/** Products whose stock is not what the ledger comes to. One statement, so all of it is seen at one moment. */
export async function findWrongProducts(stock: Sequelize, limit: number): Promise<Finding[]> {
  const rows = await select<{ product_id: string; available: string | null; ledger: string }>(
    stock,
    `SELECT product_id, SUM(available) AS available, COALESCE(SUM(ledger), 0) AS ledger FROM (
        SELECT product_id, available, NULL AS ledger FROM t_stock
        UNION ALL
        SELECT product_id, NULL, SUM(IF(type = 'DEDUCT', -quantity, quantity)) FROM t_stock_record GROUP BY product_id
      ) both_sides
      GROUP BY product_id HAVING available IS NULL OR available < 0 OR available <> ledger
      ORDER BY product_id LIMIT ?`,
    [limit],
  );
  return rows.map(({ product_id: productId, available, ledger }) => ({
    rule: 'LEDGER_SUM',
    productId,
    message: `product ${productId}: available ${available ?? 'is missing'}, ledger ${ledger}`,
  }));
}

/** Keys that have more than one order, which their unique key forbids: it must have been dropped. */
export async function findKeysOfTwo(order: Sequelize, limit: number): Promise<Finding[]> {
  const rows = await select<{ client_request_id: Buffer; orders: string }>(
    order,
    `SELECT client_request_id, COUNT(*) AS orders FROM t_order WHERE client_request_id IS NOT NULL
      GROUP BY client_request_id HAVING orders > 1 LIMIT ?`,
    [limit],
  );
  return rows.map(({ client_request_id: key, orders }) => ({
    rule: 'KEY_TWICE',
    clientRequestId: key.toString(),
    message: `key ${key.toString()} has ${orders} orders`,
  }));
}
