import type { Connection } from 'mysql2';
import { type Options, Sequelize } from 'sequelize';
import { leadsTo, leadsToOld, type ServerBehind } from './connection.ts';

/** How a service talks to its database. Keep `acquireMs` and `lockWaitSeconds` below the deadline of the RPCs. */
export interface DatabaseOptions {
  /** `mysql://user:password@host:port/database`. */
  url: string;
  /** Most connections at once. Default 10. */
  poolSize?: number;
  /** Longest wait for a free connection, in milliseconds. Default 2,000. */
  acquireMs?: number;
  /** Longest wait for a row lock, in seconds: `innodb_lock_wait_timeout`. Default 2. */
  lockWaitSeconds?: number;
  /** Longest time to open a connection, in milliseconds. Default 2,000. */
  connectTimeoutMs?: number;
  /** True: the server refuses whatever would change something. Default false. */
  readOnly?: boolean;
}

/** Of Sequelize's own: whether a connection is still open. */
interface Validating {
  validate(connection: unknown): boolean;
}

/**
 * Opens a pool on a MySQL or MariaDB database. Each session has READ COMMITTED, strict SQL mode, UTC, and BIGINT as strings. No
 * connection is made yet. When the server refuses a write since it is read-only, all connections are made anew: after a failover they
 * would lead to the old server for ever.
 */
export function openDatabase(options: DatabaseOptions): Sequelize {
  const { poolSize = 10, acquireMs = 2000, lockWaitSeconds = 2, connectTimeoutMs = 2000, readOnly = false } = options;
  let server: ServerBehind = { isLeft: false };
  const isFit = (connection?: unknown): boolean =>
    !leadsToOld(connection as Connection) && (db.connectionManager as unknown as Validating).validate(connection);
  const settings: Options = {
    dialect: 'mysql',
    logging: false,
    timezone: '+00:00',
    pool: { max: poolSize, min: 0, acquire: acquireMs, idle: 60_000, validate: isFit },
    dialectOptions: {
      connectTimeout: connectTimeoutMs,
      supportBigNumbers: true,
      bigNumberStrings: true,
      charset: 'utf8mb4',
      // For statements that are sent together. Values are always escaped apart from the statements, so they can begin none.
      multipleStatements: true,
    },
    define: { timestamps: false, freezeTableName: true },
  };
  const db = new Sequelize(options.url, settings);
  db.addHook('afterConnect', async (connection) => {
    if (server.isLeft) server = { isLeft: false };
    leadsTo(connection as Connection, server);
    const session = connection as { promise(): { query(sql: string): Promise<unknown> } };
    await session.promise().query('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
    await session
      .promise()
      .query(`SET SESSION innodb_lock_wait_timeout = ${Number(lockWaitSeconds)}, sql_mode = 'TRADITIONAL'`);
    if (readOnly) await session.promise().query('SET SESSION TRANSACTION READ ONLY');
  });
  return db;
}
