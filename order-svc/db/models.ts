import { DataTypes, type Model, type Sequelize } from 'sequelize';
import { type DatabaseOptions, openDatabase } from '../../runtime/db/database.ts';
import type { CancelledBy, OrderStatus } from '../domain/order.ts';

interface OrderRow {
  id?: string;
  order_no: string;
  user_id: string;
  client_request_id: Buffer | null;
  fingerprint: Buffer;
  status: OrderStatus;
  total_amount: string;
  create_time?: Date;
  pay_time?: Date | null;
  payment_no?: string | null;
  cancel_time?: Date | null;
  cancelled_by?: CancelledBy | null;
  cancel_reason?: string | null;
}

interface PaymentRow {
  payment_no: string;
  order_no: string;
  amount_cents: string;
  create_time?: Date;
}

interface ItemRow {
  order_no: string;
  line_no: number;
  product_id: string;
  quantity: string;
  title: string;
  unit_price_cents: string;
}

interface ClaimRow {
  order_no: string;
  client_request_id: Buffer | null;
  user_id: string;
  fingerprint: Buffer;
  items: unknown;
  expire_time: Date;
}

interface EventRow {
  event_id: string;
  order_no: string;
  event_type: string;
  payload: unknown;
  status?: 'WAIT' | 'SENT' | 'DEAD';
  attempts?: number;
  next_retry_time?: Date;
  lease_owner?: string | null;
  lease_time?: Date | null;
  create_time?: Date;
}

interface WorkerLeaseRow {
  worker_id: number;
  holder: string | null;
  expire_time: Date;
  last_time_ms: string;
}

interface OrderModel extends Model<OrderRow>, OrderRow {}
interface PaymentModel extends Model<PaymentRow>, PaymentRow {}
interface ItemModel extends Model<ItemRow>, ItemRow {}
interface ClaimModel extends Model<ClaimRow>, ClaimRow {}
interface EventModel extends Model<EventRow>, EventRow {}
interface WorkerLeaseModel extends Model<WorkerLeaseRow>, WorkerLeaseRow {}

/** order-svc's database: its pool, and a model for each table. The tables are made by the migrations. */
export type OrderDb = ReturnType<typeof openOrderDb>;

export function openOrderDb(options: DatabaseOptions) {
  const sequelize = openDatabase(options);
  return { sequelize, ...models(sequelize) };
}

function models(sequelize: Sequelize) {
  // Each model gets an object of its own: Sequelize writes the column's name into it.
  const orderNo = () => ({ type: DataTypes.STRING(32), primaryKey: true });
  const key = DataTypes.STRING(64, true);
  return {
    Order: sequelize.define<OrderModel>('t_order', {
      id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true },
      order_no: DataTypes.STRING(32),
      user_id: DataTypes.BIGINT,
      client_request_id: key,
      fingerprint: DataTypes.BLOB,
      status: DataTypes.STRING(16),
      total_amount: DataTypes.DECIMAL(12, 2),
      create_time: DataTypes.DATE(3),
      pay_time: DataTypes.DATE(3),
      payment_no: DataTypes.STRING(48),
      cancel_time: DataTypes.DATE(3),
      cancelled_by: DataTypes.STRING(16),
      cancel_reason: DataTypes.STRING(256),
    }),
    Payment: sequelize.define<PaymentModel>('t_payment', {
      payment_no: { type: DataTypes.STRING(48), primaryKey: true },
      order_no: DataTypes.STRING(32),
      amount_cents: DataTypes.BIGINT,
      create_time: DataTypes.DATE(3),
    }),
    OrderItem: sequelize.define<ItemModel>('t_order_item', {
      order_no: orderNo(),
      line_no: { type: DataTypes.SMALLINT, primaryKey: true },
      product_id: DataTypes.BIGINT,
      quantity: DataTypes.BIGINT,
      title: DataTypes.STRING(256),
      unit_price_cents: DataTypes.BIGINT,
    }),
    OrderClaim: sequelize.define<ClaimModel>('t_order_claim', {
      order_no: orderNo(),
      client_request_id: key,
      user_id: DataTypes.BIGINT,
      fingerprint: DataTypes.BLOB,
      items: DataTypes.JSON,
      expire_time: DataTypes.DATE(3),
    }),
    EventRecord: sequelize.define<EventModel>('t_event_record', {
      order_no: orderNo(),
      event_id: { type: DataTypes.STRING(96), primaryKey: true },
      event_type: DataTypes.STRING(32),
      payload: DataTypes.JSON,
      status: DataTypes.STRING(16),
      attempts: DataTypes.INTEGER,
      next_retry_time: DataTypes.DATE(3),
      lease_owner: DataTypes.STRING(36),
      lease_time: DataTypes.DATE(3),
      create_time: DataTypes.DATE(6),
    }),
    WorkerLease: sequelize.define<WorkerLeaseModel>('t_worker_lease', {
      worker_id: { type: DataTypes.SMALLINT, primaryKey: true },
      holder: DataTypes.STRING(64),
      expire_time: DataTypes.DATE(3),
      last_time_ms: DataTypes.BIGINT,
    }),
  };
}
