import { execute, jsonOf, rowsOf, select } from '../../runtime/db/statements.ts';
import { inTransaction } from '../../runtime/db/transaction.ts';
import { step } from '../domain/steps.ts';
import { deleteClaimsStatement } from './claims.ts';
import type { OrderDb } from './models.ts';

/**
 * Turns claims into STOCK_RESTORE events, in one transaction: from then on no order can come of them, and the relay gives their
 * stock back. A claim that is gone is passed over. Returns how many were turned.
 *
 * A claim under the number of an order that exists took nothing of its own: what stands in the ledger is that order's. It is only
 * deleted.
 */
export async function stageRestores(db: OrderDb, orderNos: readonly string[]): Promise<number> {
  if (orderNos.length === 0) return 0;
  return inTransaction(
    db.sequelize,
    async (tx) => {
      const claims = await select<{ order_no: string; items: unknown }>(
        db.sequelize,
        'SELECT order_no, items FROM t_order_claim WHERE order_no IN (?) ORDER BY order_no LIMIT ? FOR UPDATE',
        [orderNos, orderNos.length],
        tx,
      );
      if (claims.length === 0) return 0;
      const claimed = claims.map((claim) => claim.order_no);
      const { sql, values } = deleteClaimsStatement(claimed);
      await execute(db.sequelize, sql, values, tx);
      const orders = await select<{ order_no: string }>(
        db.sequelize,
        'SELECT order_no FROM t_order WHERE order_no IN (?)',
        [claimed],
        tx,
      );
      const taken = new Set(orders.map((order) => order.order_no));
      const staged = claims.filter((claim) => !taken.has(claim.order_no));
      if (staged.length > 0) {
        await execute(
          db.sequelize,
          `INSERT INTO t_event_record (event_id, order_no, event_type, payload)
          VALUES ${rowsOf("(?, ?, 'STOCK_RESTORE', ?)", staged.length)}`,
          staged.flatMap(({ order_no: orderNo, items }) => [
            `${orderNo}.STOCK_RESTORE`,
            orderNo,
            JSON.stringify({ order_no: orderNo, items: jsonOf(items) }),
          ]),
          tx,
        );
      }
      return claims.length;
    },
    (commit) => step('stage-restores', commit),
  );
}
