import { duplicateKey } from '../../runtime/db/sql-errors.ts';
import { execute, executeTogether, rowsOf, select } from '../../runtime/db/statements.ts';
import { inTransaction, type Transaction } from '../../runtime/db/transaction.ts';
import { type Quantity, sumByProduct } from '../domain/quantities.ts';
import { step } from '../domain/steps.ts';
import type { StockDb } from './models.ts';
import { addAvailable } from './products.ts';

/** What was given back of an order, now or before. */
export interface Restored {
  readonly items: Quantity[];
  readonly replayed: boolean;
}

/**
 * Gives back what the ledger says that orders took, in one transaction, and closes them for good. An order that took nothing gets a
 * tombstone: a RESTORED header, which refuses a Deduct that is still on its way. Returns what was given back of each.
 */
export async function restore(db: StockDb, orderNos: readonly string[]): Promise<Restored[]> {
  for (;;) {
    try {
      return await inTransaction(
        db.sequelize,
        (tx) => restoreIn(db, orderNos, tx),
        (commit) => step('restore', commit),
      );
    } catch (error) {
      // A Deduct put its header in after we saw none: now there is one.
      if (duplicateKey(error) !== 'PRIMARY') throw error;
    }
  }
}

async function restoreIn(db: StockDb, orderNos: readonly string[], tx: Transaction): Promise<Restored[]> {
  const headers = await select<{ order_no: string; state: string }>(
    db.sequelize,
    'SELECT order_no, state FROM t_stock_deduction WHERE order_no IN (?) ORDER BY order_no FOR UPDATE',
    [orderNos],
    tx,
  );
  const states = new Map(headers.map((header) => [header.order_no, header.state]));
  const missing = [...new Set(orderNos)].filter((orderNo) => !states.has(orderNo));
  if (missing.length > 0) {
    await execute(
      db.sequelize,
      `INSERT INTO t_stock_deduction (order_no, state) VALUES ${rowsOf("(?, 'RESTORED')", missing.length)}`,
      missing,
      tx,
    );
  }
  const taken = await readTaken(db, orderNos, tx);
  const open = [...states.keys()].filter((orderNo) => states.get(orderNo) === 'DEDUCTED');
  if (open.length > 0) {
    await executeTogether(
      db.sequelize,
      [
        { sql: `UPDATE t_stock_deduction SET state = 'RESTORED' WHERE order_no IN (?)`, values: [open] },
        {
          sql: `INSERT INTO t_stock_record (order_no, type, product_id, quantity)
            SELECT order_no, 'RESTORE', product_id, quantity FROM t_stock_record WHERE order_no IN (?) AND type = 'DEDUCT'`,
          values: [open],
        },
      ],
      tx,
    );
    await addAvailable(db, sumByProduct(open.flatMap((orderNo) => taken.get(orderNo) ?? [])), tx);
  }
  // An order that stands twice is answered as a Restore and its repeat.
  const first = new Set([...open, ...missing]);
  return orderNos.map((orderNo) => ({ items: taken.get(orderNo) ?? [], replayed: !first.delete(orderNo) }));
}

/** What each order took, by the ledger, in ascending product_id. */
async function readTaken(db: StockDb, orderNos: readonly string[], tx: Transaction): Promise<Map<string, Quantity[]>> {
  const rows = await select<{ order_no: string; product_id: string; quantity: string }>(
    db.sequelize,
    `SELECT order_no, product_id, quantity FROM t_stock_record WHERE order_no IN (?) AND type = 'DEDUCT'
      ORDER BY order_no, product_id`,
    [orderNos],
    tx,
  );
  const taken = Map.groupBy(rows, (row) => row.order_no);
  return new Map(
    [...taken].map(([orderNo, items]) => [
      orderNo,
      items.map((row) => ({ productId: BigInt(row.product_id), quantity: BigInt(row.quantity) })),
    ]),
  );
}
