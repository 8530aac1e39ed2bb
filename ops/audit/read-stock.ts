import type { Sequelize } from 'sequelize';
import { among, type Numbers, readTogether } from './read-together.ts';

/** What stock-svc knows of a number. */
export interface Deduction {
  /** Undefined: no header, though the ledger has rows. Once DEDUCTED, it can only become RESTORED; RESTORED is for ever. */
  state?: 'DEDUCTED' | 'RESTORED';
  /** `1×2, 5×1`: product × pieces, ascending by product. Empty: nothing. */
  taken: string;
  givenBack: string;
}

type Results = [
  { order_no: string; state: 'DEDUCTED' | 'RESTORED' }[],
  { order_no: string; type: 'DEDUCT' | 'RESTORE'; product_id: string; quantity: string }[],
];

/** Reads headers and their ledger, all at one moment. */
export async function readDeductions(stock: Sequelize, numbers: Numbers): Promise<Map<string, Deduction>> {
  const { sql, values } = among(numbers);
  const [headers, records] = await readTogether<Results>(stock, [
    { sql: `SELECT order_no, state FROM t_stock_deduction WHERE ${sql}`, values },
    {
      sql: `SELECT order_no, type, product_id, quantity FROM t_stock_record WHERE ${sql} AND type <> 'RECEIVE'
        ORDER BY order_no, type, product_id`,
      values,
    },
  ]);
  const deductions = new Map<string, Deduction>();
  for (const { order_no: orderNo, state } of headers) deductions.set(orderNo, { state, taken: '', givenBack: '' });
  for (const { order_no: orderNo, type, product_id: productId, quantity } of records) {
    let deduction = deductions.get(orderNo);
    if (!deduction) deductions.set(orderNo, (deduction = { taken: '', givenBack: '' }));
    const side = type === 'DEDUCT' ? 'taken' : 'givenBack';
    const line = `${productId}×${quantity}`;
    deduction[side] = deduction[side] === '' ? line : `${deduction[side]}, ${line}`;
  }
  return deductions;
}
