import { duplicateKey } from '../../runtime/db/sql-errors.ts';
import { execute, select } from '../../runtime/db/statements.ts';
import { inTransaction, type Transaction } from '../../runtime/db/transaction.ts';
import type { Quantity } from '../domain/quantities.ts';
import { step } from '../domain/steps.ts';
import type { StockDb } from './models.ts';
import { addAvailable } from './products.ts';

/** What was given back of an order, now or before. */
export interface Restored {
  readonly items: Quantity[];
  readonly replayed: boolean;
}

/**
 * Gives back what the ledger says that an order took, and closes it for good. An order that took nothing gets a tombstone: a
 * RESTORED header, which refuses a Deduct that is still on its way.
 */
export async function restore(db: StockDb, orderNo: string): Promise<Restored> {
  for (;;) {
    try {
      return await inTransaction(
        db.sequelize,
        (tx) => restoreIn(db, orderNo, tx),
        (commit) => step('restore', commit),
      );
    } catch (error) {
      // A Deduct put its header in after we saw none: now there is one.
      if (duplicateKey(error) !== 'PRIMARY') throw error;
    }
  }
}

async function restoreIn(db: StockDb, orderNo: string, tx: Transaction): Promise<Restored> {
  const [header] = await select<{ state: string }>(
    db.sequelize,
    'SELECT state FROM t_stock_deduction WHERE order_no = ? FOR UPDATE',
    [orderNo],
    tx,
  );
  if (!header) {
    await execute(
      db.sequelize,
      `INSERT INTO t_stock_deduction (order_no, state) VALUES (?, 'RESTORED')`,
      [orderNo],
      tx,
    );
    return { items: [], replayed: false };
  }
  const rows = await select<{ product_id: string; quantity: string }>(
    db.sequelize,
    `SELECT product_id, quantity FROM t_stock_record WHERE order_no = ? AND type = 'DEDUCT' ORDER BY product_id`,
    [orderNo],
    tx,
  );
  const items = rows.map((row) => ({ productId: BigInt(row.product_id), quantity: BigInt(row.quantity) }));
  if (header.state === 'RESTORED') return { items, replayed: true };

  await execute(db.sequelize, `UPDATE t_stock_deduction SET state = 'RESTORED' WHERE order_no = ?`, [orderNo], tx);
  await execute(
    db.sequelize,
    `INSERT INTO t_stock_record (order_no, type, product_id, quantity)
      SELECT order_no, 'RESTORE', product_id, quantity FROM t_stock_record WHERE order_no = ? AND type = 'DEDUCT'`,
    [orderNo],
    tx,
  );
  await addAvailable(db, items, tx);
  return { items, replayed: false };
}
