import type { Connection, QueryError, QueryResult } from 'mysql2';
import type { Sequelize } from 'sequelize';
import { isReadOnly } from './sql-errors.ts';

interface Pool {
  getConnection(options: { type: 'write' }): Promise<Connection>;
  releaseConnection(connection: Connection): void;
  destroyConnection(connection: Connection): Promise<void>;
}

/** A connection of Sequelize's pool. Give it back by `releaseConnection` or `discardConnection`. */
export function acquireConnection(db: Sequelize): Promise<Connection> {
  return (db.connectionManager as Pool).getConnection({ type: 'write' });
}

export function releaseConnection(db: Sequelize, connection: Connection): void {
  (db.connectionManager as Pool).releaseConnection(connection);
}

/** Closes a connection whose state nobody knows. */
export function discardConnection(db: Sequelize, connection: Connection): void {
  connection.destroy();
  (db.connectionManager as Pool).destroyConnection(connection).catch(() => {
    // It is closed already, and the pool has let go of it.
  });
}

/** The server that a pool's connections lead to. Those that are opened when it has been left may lead to another one. */
export interface ServerBehind {
  /** It has refused a write since it is read-only: after a failover it would refuse, and answer of the past, for ever. */
  isLeft: boolean;
}

const servers = new WeakMap<Connection, ServerBehind>();

/** A pool has opened a connection to this server. */
export function leadsTo(connection: Connection, server: ServerBehind): void {
  servers.set(connection, server);
}

/** Whether a connection leads to a server that has been left. */
export function leadsToOld(connection: Connection): boolean {
  return servers.get(connection)?.isLeft ?? false;
}

/**
 * Sends one query, or several that are separated by semicolons, with `?` in place of the values.
 *
 * @param answered called for each of the queries that the server has carried out.
 */
export function send<Result extends QueryResult>(
  connection: Connection,
  sql: string,
  values: readonly unknown[] = [],
  answered?: () => void,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const query = connection.query<Result>(sql, values as unknown[], (error: QueryError | null, result) => {
      if (!error) return resolve(result);
      const server = servers.get(connection);
      if (server && isReadOnly(error)) server.isLeft = true;
      reject(error);
    });
    if (answered) query.on('fields', answered);
  });
}

/** Throws when a value was forgotten: the driver would take it for NULL. */
export function refuseUndefined(values: readonly unknown[]): void {
  if (values.includes(undefined)) throw new Error('a value of a statement is undefined');
}
