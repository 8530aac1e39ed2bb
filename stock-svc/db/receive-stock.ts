import { duplicateKey } from '../../runtime/db/sql-errors.ts';
import { execute, rowsOf } from '../../runtime/db/statements.ts';
import { inTransaction } from '../../runtime/db/transaction.ts';
import { quantitiesFingerprint } from '../domain/quantities.ts';
import type { Receipt } from '../domain/read-request.ts';
import { step } from '../domain/steps.ts';
import { stockError } from '../domain/reasons.ts';
import type { StockDb } from './models.ts';
import { addAvailable } from './products.ts';

/** Books goods in, once for each receipt_no. True: they had been booked before. */
export async function receiveStock(db: StockDb, { receiptNo, quantities }: Receipt): Promise<boolean> {
  const fingerprint = quantitiesFingerprint(quantities);
  try {
    await inTransaction(
      db.sequelize,
      async (tx) => {
        await execute(
          db.sequelize,
          'INSERT INTO t_stock_receipt (receipt_no, fingerprint) VALUES (?, ?)',
          [receiptNo, fingerprint],
          tx,
        );
        await execute(
          db.sequelize,
          `INSERT INTO t_stock_record (order_no, type, product_id, quantity)
          VALUES ${rowsOf("(?, 'RECEIVE', ?, ?)", quantities.length)}`,
          quantities.flatMap(({ productId, quantity }) => [receiptNo, productId, quantity]),
          tx,
        );
        await addAvailable(db, quantities, tx);
      },
      (commit) => step('receive-stock', commit),
    );
    return false;
  } catch (error) {
    if (duplicateKey(error) !== 'PRIMARY') throw error;
  }
  const receipt = await db.StockReceipt.findByPk(receiptNo, { raw: true, rejectOnEmpty: true });
  if (receipt.fingerprint.equals(fingerprint)) return true;
  throw stockError('RECEIPT_NO_REUSED', `receipt ${receiptNo} brought other items before`, {
    fieldViolations: [{ field: 'items', description: 'not what this receipt_no brought before' }],
  });
}
