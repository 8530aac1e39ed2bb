import { execute, rowsOf, select } from '../../runtime/db/statements.ts';
import type { Transaction } from '../../runtime/db/transaction.ts';
import type { Quantity } from '../domain/quantities.ts';
import type { NewProduct } from '../domain/read-request.ts';
import { step } from '../domain/steps.ts';
import { type Product, productNotFound } from '../domain/take.ts';
import type { StockDb } from './models.ts';

/** Reads products, by id. One that is not there is left out. */
export async function readProducts(
  db: StockDb,
  productIds: readonly bigint[],
  transaction?: Transaction,
): Promise<Map<bigint, Product>> {
  const rows = await select<{ product_id: string; title: string; unit_price_cents: string; available: string }>(
    db.sequelize,
    'SELECT product_id, title, unit_price_cents, available FROM t_stock WHERE product_id IN (?) ORDER BY product_id',
    [productIds],
    transaction,
  );
  return new Map(
    rows.map((row) => [
      BigInt(row.product_id),
      {
        productId: BigInt(row.product_id),
        title: row.title,
        unitPriceCents: BigInt(row.unit_price_cents),
        available: BigInt(row.available),
      },
    ]),
  );
}

/** Makes products or changes title and price. Rows are written in ascending product_id, as every writer does: no deadlock. */
export async function putProducts(db: StockDb, products: readonly NewProduct[]): Promise<void> {
  const rows = products.toSorted((a, b) => (a.productId < b.productId ? -1 : 1));
  const sql = `INSERT INTO t_stock (product_id, title, unit_price_cents) VALUES ${rowsOf('(?, ?, ?)', rows.length)}
    ON DUPLICATE KEY UPDATE title = VALUES(title), unit_price_cents = VALUES(unit_price_cents)`;
  const values = rows.flatMap(({ productId, title, unitPriceCents }) => [productId, title, unitPriceCents]);
  await step('put-products', () => execute(db.sequelize, sql, values));
}

/**
 * Adds pieces to what is available, rows locked in ascending product_id.
 *
 * @throws PRODUCT_NOT_FOUND; the caller rolls back.
 */
export async function addAvailable(
  db: StockDb,
  quantities: readonly Quantity[],
  transaction: Transaction,
): Promise<void> {
  const cases = quantities.map(() => 'WHEN ? THEN ?').join(' ');
  const changed = await execute(
    db.sequelize,
    `UPDATE t_stock SET available = available + CASE product_id ${cases} END
      WHERE product_id IN (?) ORDER BY product_id LIMIT ?`,
    [
      ...quantities.flatMap(({ productId, quantity }) => [productId, quantity]),
      quantities.map((one) => one.productId),
      quantities.length,
    ],
    transaction,
  );
  if (changed === quantities.length) return;
  const known = await readProducts(
    db,
    quantities.map((one) => one.productId),
    transaction,
  );
  throw productNotFound(quantities.find((one) => !known.has(one.productId))!.productId);
}
