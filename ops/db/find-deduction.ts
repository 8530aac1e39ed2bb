import type { Sequelize } from 'sequelize';
import { select } from '../../runtime/db/statements.ts';

/** What stock-svc has booked under a number. */
export interface Deduction {
  /** Null: the ledger has rows without a header, which must not be. */
  readonly state: string | null;
  readonly create_time: Date | null;
  readonly update_time: Date | null;
  readonly records: Movement[];
}

interface Movement {
  readonly type: string;
  readonly product_id: string;
  readonly quantity: string;
  readonly create_time: Date;
}

export async function findDeduction(stock: Sequelize, orderNo: string): Promise<Deduction | undefined> {
  const [header] = await select<Omit<Deduction, 'records'>>(
    stock,
    'SELECT state, create_time, update_time FROM t_stock_deduction WHERE order_no = ?',
    [orderNo],
  );
  const records = await select<Movement>(
    stock,
    `SELECT type, product_id, quantity, create_time FROM t_stock_record
      WHERE order_no = ? AND type <> 'RECEIVE' ORDER BY type, product_id`,
    [orderNo],
  );
  if (!header && records.length === 0) return undefined;
  return { ...(header ?? { state: null, create_time: null, update_time: null }), records };
}
