import { DataTypes, type Model, type Sequelize } from 'sequelize';
import { type DatabaseOptions, openDatabase } from '../../runtime/db/database.ts';

interface StockRow {
  product_id: string;
  title: string;
  unit_price_cents: string;
  available?: string;
}

interface DeductionRow {
  order_no: string;
  state: 'DEDUCTED' | 'RESTORED';
  fingerprint: Buffer | null;
}

interface ReceiptRow {
  receipt_no: string;
  fingerprint: Buffer;
}

interface RecordRow {
  order_no: string;
  type: 'DEDUCT' | 'RESTORE' | 'RECEIVE';
  product_id: string;
  quantity: string;
  title: string | null;
  unit_price_cents: string | null;
}

interface StockModel extends Model<StockRow>, StockRow {}
interface DeductionModel extends Model<DeductionRow>, DeductionRow {}
interface ReceiptModel extends Model<ReceiptRow>, ReceiptRow {}
interface RecordModel extends Model<RecordRow>, RecordRow {}

/** stock-svc's database: its pool, and a model for each table. The tables are made by the migrations. */
export type StockDb = ReturnType<typeof openStockDb>;

export function openStockDb(options: DatabaseOptions) {
  const sequelize = openDatabase(options);
  return { sequelize, ...models(sequelize) };
}

function models(sequelize: Sequelize) {
  // Each model gets an object of its own: Sequelize writes the column's name into it.
  const id = () => ({ type: DataTypes.BIGINT, primaryKey: true });
  const number = () => ({ type: DataTypes.STRING(32), primaryKey: true });
  return {
    Stock: sequelize.define<StockModel>('t_stock', {
      product_id: id(),
      title: DataTypes.STRING(256),
      unit_price_cents: DataTypes.BIGINT,
      available: DataTypes.BIGINT,
    }),
    StockDeduction: sequelize.define<DeductionModel>('t_stock_deduction', {
      order_no: number(),
      state: DataTypes.STRING(16),
      fingerprint: DataTypes.BLOB,
    }),
    StockReceipt: sequelize.define<ReceiptModel>('t_stock_receipt', {
      receipt_no: number(),
      fingerprint: DataTypes.BLOB,
    }),
    StockRecord: sequelize.define<RecordModel>('t_stock_record', {
      order_no: number(),
      type: { type: DataTypes.STRING(16), primaryKey: true },
      product_id: id(),
      quantity: DataTypes.BIGINT,
      title: DataTypes.STRING(256),
      unit_price_cents: DataTypes.BIGINT,
    }),
  };
}
