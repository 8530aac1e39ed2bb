import type { Connection, QueryError, QueryResult } from 'mysql2';
import type { Sequelize } from 'sequelize';

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
    const query = connection.query<Result>(sql, values as unknown[], (error: QueryError | null, result) =>
      error ? reject(error) : resolve(result),
    );
    if (answered) query.on('fields', answered);
  });
}

/** Throws when a value was forgotten: the driver would take it for NULL. */
export function refuseUndefined(values: readonly unknown[]): void {
  if (values.includes(undefined)) throw new Error('a value of a statement is undefined');
}
