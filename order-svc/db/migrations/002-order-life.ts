import type { Sequelize } from 'sequelize';
import type { Migration } from '../../../runtime/db/migrate.ts';
import { select } from '../../../runtime/db/statements.ts';

const ORDER_NO = 'order_no VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL';
// ascii_bin takes 'p' and 'p ' for the same, and a payment_no has no spaces.
const PAYMENT_NO = 'payment_no VARCHAR(48) CHARACTER SET ascii COLLATE ascii_bin';

/** What becomes of an order: paid, cancelled or expired; and the two indexes by which its user and the expiry find it. */
export const orderLife: Migration = {
  name: '002-order-life',
  async up(db) {
    // A table of its own binds a payment to one order: a unique key on t_order would cost every CreateOrder, and could not hold a
    // payment that was refused.
    await db.query(`
      CREATE TABLE IF NOT EXISTS t_payment (
        ${PAYMENT_NO} NOT NULL,
        ${ORDER_NO},
        amount_cents BIGINT NOT NULL,
        create_time DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        PRIMARY KEY (payment_no)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`);
    // Each ALTER is done or not done, never half: what is there already was done by a run that broke off after it.
    if (!(await hasColumn(db, 'pay_time'))) {
      await db.query(`
        ALTER TABLE t_order
          ADD COLUMN pay_time DATETIME(3) NULL,
          ADD COLUMN ${PAYMENT_NO} NULL COMMENT 'that paid it; t_payment holds it to one order',
          ADD COLUMN cancel_time DATETIME(3) NULL,
          ADD COLUMN cancelled_by VARCHAR(16) NULL COMMENT 'USER / EXPIRY',
          ADD COLUMN cancel_reason VARCHAR(256) NULL COMMENT 'in the words of the user'`);
    }
    // Both widened in place, none added: every CreateOrder writes each of them.
    if (!(await covers(db, 'idx_status', 'create_time'))) {
      await db.query('ALTER TABLE t_order DROP KEY idx_status, ADD KEY idx_status (status, create_time)');
    }
    if (!(await covers(db, 'idx_user_id', 'status'))) {
      await db.query('ALTER TABLE t_order DROP KEY idx_user_id, ADD KEY idx_user_id (user_id, status, id)');
    }
  },
};

const IN_T_ORDER = "table_schema = DATABASE() AND table_name = 't_order'";

async function hasColumn(db: Sequelize, column: string): Promise<boolean> {
  const sql = `SELECT 1 FROM information_schema.columns WHERE ${IN_T_ORDER} AND column_name = ?`;
  return (await select(db, sql, [column])).length > 0;
}

async function covers(db: Sequelize, key: string, column: string): Promise<boolean> {
  const sql = `SELECT 1 FROM information_schema.statistics WHERE ${IN_T_ORDER} AND index_name = ? AND column_name = ?`;
  return (await select(db, sql, [key, column])).length > 0;
}
