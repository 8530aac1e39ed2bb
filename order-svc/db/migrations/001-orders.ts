import type { Migration } from '../../../runtime/db/migrate.ts';
import { WORKERS } from '../../domain/order-no.ts';

const ORDER_NO = 'order_no VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL';
// VARBINARY: the one type that is compared byte for byte on MySQL and MariaDB alike.
const KEY = 'client_request_id VARBINARY(64) NULL';

export const orderTables: Migration = {
  name: '001-orders',
  async up(db) {
    await db.query(`
      CREATE TABLE IF NOT EXISTS t_order (
        id BIGINT NOT NULL AUTO_INCREMENT,
        ${ORDER_NO},
        user_id BIGINT NOT NULL,
        ${KEY},
        fingerprint BINARY(32) NOT NULL COMMENT 'of the request',
        status VARCHAR(16) NOT NULL COMMENT 'WAIT_PAY / PAID / CANCELLED',
        total_amount DECIMAL(12,2) NOT NULL,
        create_time DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        PRIMARY KEY (id),
        UNIQUE KEY uk_order_no (order_no),
        UNIQUE KEY uk_client_request_id (client_request_id),
        KEY idx_user_id (user_id),
        KEY idx_status (status)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`);
    await db.query(`
      CREATE TABLE IF NOT EXISTS t_order_item (
        ${ORDER_NO},
        line_no SMALLINT NOT NULL COMMENT 'from 0, as the caller sent them',
        product_id BIGINT NOT NULL,
        quantity BIGINT NOT NULL,
        title VARCHAR(256) NOT NULL,
        unit_price_cents BIGINT NOT NULL,
        PRIMARY KEY (order_no, line_no)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`);
    // No index on expire_time: the table holds what is in flight, and every order passes through it.
    await db.query(`
      CREATE TABLE IF NOT EXISTS t_order_claim (
        ${ORDER_NO},
        ${KEY},
        user_id BIGINT NOT NULL,
        fingerprint BINARY(32) NOT NULL COMMENT 'of the request',
        items JSON NOT NULL COMMENT 'for people: what was asked for',
        expire_time DATETIME(3) NOT NULL,
        PRIMARY KEY (order_no),
        UNIQUE KEY uk_client_request_id (client_request_id)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`);
    await db.query(`
      CREATE TABLE IF NOT EXISTS t_event_record (
        ${ORDER_NO},
        event_id VARCHAR(96) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'order_no.event_type: none twice',
        event_type VARCHAR(32) NOT NULL,
        payload JSON NOT NULL,
        status VARCHAR(16) NOT NULL DEFAULT 'WAIT' COMMENT 'WAIT / SENT / DEAD',
        attempts INT NOT NULL DEFAULT 0,
        next_retry_time DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3),
        lease_owner VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL,
        lease_time DATETIME(3) NULL COMMENT 'end of the lease; in no index, so that leasing moves none',
        create_time DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
        PRIMARY KEY (order_no, event_id),
        KEY idx_status_next_retry_time (status, next_retry_time)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`);
    await db.query(`
      CREATE TABLE IF NOT EXISTS t_worker_lease (
        worker_id SMALLINT NOT NULL,
        holder VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
        expire_time DATETIME(3) NOT NULL DEFAULT '2000-01-01',
        last_time_ms BIGINT NOT NULL DEFAULT 0 COMMENT 'no number of this worker carries a later time',
        PRIMARY KEY (worker_id)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4`);
    const workers = Array.from({ length: WORKERS }, (_, id) => `(${id})`).join(',');
    await db.query(
      `INSERT INTO t_worker_lease (worker_id) VALUES ${workers} ON DUPLICATE KEY UPDATE worker_id = worker_id`,
    );
  },
};
