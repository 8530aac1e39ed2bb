import type { Pool, PoolConnection, RowDataPacket } from 'mysql2/promise';

const DURABLE = 'durable VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL';
const EVENT_ID = 'event_id VARCHAR(96) CHARACTER SET ascii COLLATE ascii_bin NOT NULL';
const TIME = 'DATETIME(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)';

const tables = [
  `CREATE TABLE IF NOT EXISTS t_event_place (
    ${DURABLE},
    stream VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'when it was made: another one counts anew',
    seq BIGINT NOT NULL COMMENT 'of the last event that is done with',
    PRIMARY KEY (durable)
  ) ENGINE=InnoDB`,
  `CREATE TABLE IF NOT EXISTS t_handled_event (
    ${DURABLE},
    ${EVENT_ID},
    handled_time ${TIME},
    PRIMARY KEY (durable, event_id),
    KEY idx_durable_handled_time (durable, handled_time)
  ) ENGINE=InnoDB`,
  `CREATE TABLE IF NOT EXISTS t_dead_event (
    ${DURABLE},
    ${EVENT_ID},
    id BIGINT NOT NULL AUTO_INCREMENT COMMENT 'the order in which they were put aside',
    order_no VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    content_type VARCHAR(64) CHARACTER SET ascii NOT NULL,
    data MEDIUMBLOB NOT NULL,
    error TEXT CHARACTER SET utf8mb4 NOT NULL,
    dead_time ${TIME},
    PRIMARY KEY (durable, event_id),
    UNIQUE KEY uk_id (id),
    KEY idx_durable_order_no (durable, order_no)
  ) ENGINE=InnoDB`,
];

/** Makes the consumer's three tables where they are missing. Any number may do so at once. */
export async function createEventTables(db: Pool): Promise<void> {
  for (const table of tables) await db.query(table);
}

/** Runs `work` in one transaction, and commits it unless it throws. */
export async function inTransaction<T>(db: Pool, work: (tx: PoolConnection) => Promise<T>): Promise<T> {
  const tx = await db.getConnection();
  try {
    await tx.beginTransaction();
    const result = await work(tx);
    await tx.commit();
    tx.release();
    return result;
  } catch (error) {
    // Where it cannot be rolled back the connection is lost, or as good as that: the server rolls back what was open on it.
    await tx.rollback().then(
      () => tx.release(),
      () => tx.destroy(),
    );
    throw error;
  }
}

/** Runs a SELECT. */
export async function rowsOf<Row extends object>(tx: PoolConnection, sql: string, values: unknown[]): Promise<Row[]> {
  const [rows] = await tx.query<(Row & RowDataPacket)[]>(sql, values);
  return rows;
}
