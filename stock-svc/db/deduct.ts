import { ConnectError } from '@connectrpc/connect';
import { commitTogether, UnexpectedRowsError } from '../../runtime/db/commit-together.ts';
import { duplicateKey } from '../../runtime/db/sql-errors.ts';
import { rowsOf, type Statement } from '../../runtime/db/statements.ts';
import { commonError } from '../../runtime/rpc/errors.ts';
import { quantitiesFingerprint, type Quantity, sumByProduct } from '../domain/quantities.ts';
import type { Deduction } from '../domain/read-request.ts';
import { step } from '../domain/steps.ts';
import { stockError } from '../domain/reasons.ts';
import { type Product, take, type TakenItem } from '../domain/take.ts';
import type { KnownProducts } from './known-products.ts';
import type { StockDb } from './models.ts';
import { readProducts } from './products.ts';

/** What an order took, now or before. */
export interface Deducted {
  readonly items: TakenItem[];
  readonly replayed: boolean;
}

interface Accepted {
  readonly deduction: Deduction;
  readonly items: TakenItem[];
}

/** Each failed attempt means that another order, or a change of price, came first; more than this many in a row is overload. */
const MAX_ATTEMPTS = 20;

/**
 * Takes the stock of orders, each all or nothing, in one transaction. Returns what each one got: what it took, or its refusal.
 *
 * Products are as they were known last, or read without a lock; orders are given in turn what is left, and the decrement, the last
 * statement before COMMIT, asks again whether all that still holds: a hot product's row is locked for the commit alone. When it does
 * not hold, all starts over with what is read then. Nobody is refused by what was known.
 *
 * @throws the driver's duplicate-key error when one of several orders has a header already: run them one by one.
 */
export async function deduct(
  db: StockDb,
  known: KnownProducts,
  deductions: readonly Deduction[],
): Promise<(Deducted | ConnectError)[]> {
  const ids = [...new Set(deductions.flatMap(({ quantities }) => quantities.map(({ productId }) => productId)))];
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const remembered = known.take(ids);
    const products = remembered ?? (await readProducts(db, ids));
    const taken = deductions.map((deduction) => tryTake(deduction, products));
    const accepted = deductions.flatMap((deduction, i) => {
      const items = taken[i]!;
      return items instanceof ConnectError ? [] : [{ deduction, items }];
    });
    const refused = accepted.length < deductions.length;
    if (refused && remembered) continue;
    try {
      if (accepted.length > 0 && !(await write(db, accepted, products))) continue;
      if (!refused) known.put(products);
    } catch (error) {
      if (duplicateKey(error) !== 'PRIMARY' || deductions.length > 1) throw error;
      const answer = await replay(db, deductions[0]!);
      if (!answer) continue;
      return [answer];
    }
    return Promise.all(
      taken.map(async (items, i) => {
        if (!(items instanceof ConnectError)) return { items, replayed: false };
        // What cannot be taken now may be what this very order has taken before.
        return (await replay(db, deductions[i]!)) ?? items;
      }),
    );
  }
  throw commonError('SERVICE_UNAVAILABLE', 'too many orders want the same product at once');
}

function tryTake(deduction: Deduction, products: Map<bigint, Product>): TakenItem[] | ConnectError {
  try {
    return take(deduction, products);
  } catch (error) {
    if (error instanceof ConnectError) return error;
    throw error;
  }
}

/** False: what was known no longer holds, and nothing was written. */
async function write(db: StockDb, accepted: readonly Accepted[], products: Map<bigint, Product>): Promise<boolean> {
  const sums = sumByProduct(accepted.flatMap(({ items }) => items));
  const statements = [
    insertHeaders(accepted),
    insertRecords(accepted),
    { ...decrement(sums, products), mustChange: sums.length },
  ];
  try {
    await commitTogether(db.sequelize, statements, (send) => step('deduct', send));
    return true;
  } catch (error) {
    if (error instanceof UnexpectedRowsError) return false;
    throw error;
  }
}

function insertHeaders(accepted: readonly Accepted[]): Statement {
  return {
    sql: `INSERT INTO t_stock_deduction (order_no, state, fingerprint)
      VALUES ${rowsOf("(?, 'DEDUCTED', ?)", accepted.length)}`,
    values: accepted.flatMap(({ deduction }) => [deduction.orderNo, quantitiesFingerprint(deduction.quantities)]),
  };
}

function insertRecords(accepted: readonly Accepted[]): Statement {
  const rows = accepted.flatMap(({ deduction, items }) =>
    items.map((item) => [deduction.orderNo, item.productId, item.quantity, item.title, item.unitPriceCents]),
  );
  return {
    sql: `INSERT INTO t_stock_record (type, order_no, product_id, quantity, title, unit_price_cents)
      VALUES ${rowsOf("('DEDUCT', ?, ?, ?, ?, ?)", rows.length)}`,
    values: rows.flat(),
  };
}

/**
 * Rows are locked in ascending product_id, as by every writer: no deadlock. The LIMIT keeps the optimizer from looking at all rows. A
 * title is compared byte for byte.
 */
function decrement(sums: readonly Quantity[], products: Map<bigint, Product>): Statement {
  const holds = '(product_id = ? AND available >= ? AND unit_price_cents = ? AND title = CAST(? AS BINARY))';
  return {
    sql: `UPDATE t_stock SET available = available - CASE product_id ${sums.map(() => 'WHEN ? THEN ?').join(' ')} END
      WHERE ${sums.map(() => holds).join(' OR ')}
      ORDER BY product_id LIMIT ?`,
    values: [
      ...sums.flatMap(({ productId, quantity }) => [productId, quantity]),
      ...sums.flatMap(({ productId, quantity }) => {
        const { unitPriceCents, title } = products.get(productId)!;
        return [productId, quantity, unitPriceCents, title];
      }),
      sums.length,
    ],
  };
}

/** The answer to a Deduct whose order has a header; undefined when it has none. */
async function replay(db: StockDb, { orderNo, quantities }: Deduction): Promise<Deducted | ConnectError | undefined> {
  const header = await db.StockDeduction.findByPk(orderNo, { raw: true });
  if (!header) return undefined;
  if (header.state === 'RESTORED') return stockError('ORDER_CLOSED', `the stock of order ${orderNo} was given back`);
  if (!header.fingerprint?.equals(quantitiesFingerprint(quantities))) {
    return stockError('ORDER_NO_REUSED', `order ${orderNo} took other items before`, {
      fieldViolations: [{ field: 'items', description: 'not what this order_no took before' }],
    });
  }
  const rows = await db.StockRecord.findAll({
    where: { order_no: orderNo, type: 'DEDUCT' },
    order: ['product_id'],
    raw: true,
  });
  const items = rows.map((row) => ({
    productId: BigInt(row.product_id),
    quantity: BigInt(row.quantity),
    title: row.title!,
    unitPriceCents: BigInt(row.unit_price_cents!),
  }));
  return { items, replayed: true };
}
