import type { Migration } from '../../../runtime/db/migrate.ts';

// Ids that callers choose are ascii_bin: compared byte for byte, and their set of characters has no space to pad.
export const stockTables: Migration = {
  name: '001-stock',
  async up(db) {
    await db.query(`
      CREATE TABLE IF NOT EXISTS t_stock (
        product_id BIGINT NOT NULL,
        title VARCHAR(256) NOT NULL,
        unit_price_cents BIGINT NOT NULL,
        available BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (product_id),
        CONSTRAINT ck_available CHECK (available >= 0)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`);
    await db.query(`
      CREATE TABLE IF NOT EXISTS t_stock_deduction (
        order_no VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        state VARCHAR(16) NOT NULL COMMENT 'DEDUCTED / RESTORED',
        fingerprint BINARY(32) NULL COMMENT 'of what was deducted; NULL: nothing was (a tombstone)',
        create_time DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        update_time DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
        PRIMARY KEY (order_no)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`);
    await db.query(`
      CREATE TABLE IF NOT EXISTS t_stock_receipt (
        receipt_no VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        fingerprint BINARY(32) NOT NULL COMMENT 'of what was received',
        create_time DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        PRIMARY KEY (receipt_no)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`);
    await db.query(`
      CREATE TABLE IF NOT EXISTS t_stock_record (
        order_no VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'or receipt_no of a RECEIVE',
        type VARCHAR(16) NOT NULL COMMENT 'DEDUCT / RESTORE / RECEIVE',
        product_id BIGINT NOT NULL,
        quantity BIGINT NOT NULL,
        title VARCHAR(256) NULL COMMENT 'of the product when it was deducted',
        unit_price_cents BIGINT NULL COMMENT 'of the product when it was deducted',
        create_time DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        PRIMARY KEY (order_no, type, product_id)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`);
  },
};
