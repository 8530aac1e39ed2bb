import { execute, select } from '../runtime/db/statements.ts';
import { inTransaction } from '../runtime/db/transaction.ts';
import type { Stack } from './stack.ts';

const CHUNK = 50_000;

/** Puts orders there as if they had been made: all tables of both services, in agreement with the audit. */
export async function seedOrders(
  { orderDb, stockDb }: Pick<Stack, 'orderDb' | 'stockDb'>,
  count: number,
  progress: (text: string) => void,
): Promise<void> {
  for (let from = 0; from < count; from += CHUNK) {
    progress(`putting ${from + CHUNK} of ${count} orders there`);
    const numbers = `WITH RECURSIVE n AS (SELECT ${from} AS i UNION ALL SELECT i + 1 FROM n WHERE i < ${from + CHUNK - 1})`;
    const product = '1 + n.i % 100';
    // 18 digits, before every number that is made now.
    const orderNo = `CAST(100000000000000000 + n.i * 256 + 1 AS CHAR)`;
    await inSession(orderDb.sequelize, [
      `INSERT INTO t_order (order_no, user_id, client_request_id, fingerprint, status, total_amount)
        ${numbers} SELECT ${orderNo}, 1, UUID(), UNHEX(SHA2('', 256)), 'WAIT_PAY', 2.5 FROM n`,
      `INSERT INTO t_order_item (order_no, line_no, product_id, quantity, title, unit_price_cents)
        ${numbers} SELECT ${orderNo}, 0, ${product}, 1, CONCAT('Product ', ${product}), 250 FROM n`,
      `INSERT INTO t_event_record (event_id, order_no, event_type, payload, status)
        ${numbers} SELECT CONCAT(${orderNo}, '.ORDER_CREATED'), ${orderNo}, 'ORDER_CREATED', '{}', 'SENT' FROM n`,
    ]);
    await inSession(stockDb.sequelize, [
      `INSERT INTO t_stock_deduction (order_no, state, fingerprint)
        ${numbers} SELECT ${orderNo}, 'DEDUCTED', UNHEX(SHA2('', 256)) FROM n`,
      `INSERT INTO t_stock_record (order_no, type, product_id, quantity, title, unit_price_cents)
        ${numbers} SELECT ${orderNo}, 'DEDUCT', ${product}, 1, CONCAT('Product ', ${product}), 250 FROM n`,
      `UPDATE t_stock SET available = available - ${CHUNK / 100} WHERE product_id <= 100`,
    ]);
  }
}

async function inSession(db: Stack['orderDb']['sequelize'], statements: readonly string[]): Promise<void> {
  await inTransaction(db, async (tx) => {
    const depths = await select(db, "SHOW VARIABLES LIKE 'cte_max_recursion_depth'", [], tx);
    const depth = depths.length > 0 ? 'cte_max_recursion_depth' : 'max_recursive_iterations';
    await execute(db, `SET SESSION ${depth} = ${CHUNK}`, [], tx);
    for (const statement of statements) await execute(db, statement, [], tx);
  });
}
