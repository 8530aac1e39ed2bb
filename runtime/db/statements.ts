import type { Connection, QueryError, QueryResult, ResultSetHeader } from 'mysql2';
import type { Sequelize, Transaction } from 'sequelize';
import { isDeadlock } from './sql-errors.ts';

/** One statement, with `?` in place of its values, in order. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/**
 * Runs an INSERT, UPDATE or DELETE with `?` in place of the values, in order. Returns the number of rows changed (FOUND_ROWS is
 * off: a row that is set to what it was does not count).
 *
 * Like all of this file, on a connection of Sequelize's pool, without what Sequelize does around a statement: that costs more than the
 * statement itself.
 */
export async function execute(
  db: Sequelize,
  sql: string,
  values: readonly unknown[],
  transaction?: Transaction,
): Promise<number> {
  return (await query<ResultSetHeader>(db, sql, values, transaction)).affectedRows;
}

/** Runs a SELECT with `?` in place of the values. BIGINT comes as a string, DATETIME as a Date, VARBINARY as a Buffer. */
export function select<Row extends object>(
  db: Sequelize,
  sql: string,
  values: readonly unknown[],
  transaction?: Transaction,
): Promise<Row[]> {
  return query<Row[] & QueryResult>(db, sql, values, transaction);
}

/**
 * Runs two or more statements that change rows in one round trip, in order, in the transaction. Returns the number of rows that each
 * changed. When one fails those after it are not run, and the error is its own.
 */
export async function executeTogether(
  db: Sequelize,
  statements: readonly Statement[],
  transaction: Transaction,
): Promise<number[]> {
  const sql = statements.map((statement) => statement.sql).join(';\n');
  const values = statements.flatMap((statement) => statement.values);
  const results = await query<ResultSetHeader[]>(db, sql, values, transaction);
  return results.map((result) => result.affectedRows);
}

/** `(?,?),(?,?)`: the placeholders of so many rows. `row` is one of them. */
export function rowsOf(row: string, count: number): string {
  return Array.from({ length: count }, () => row).join(',');
}

/** The value of a JSON column: MySQL's comes parsed, MariaDB's is text. */
export function jsonOf(column: unknown): unknown {
  return typeof column === 'string' ? JSON.parse(column) : column;
}

async function query<Result extends QueryResult>(
  db: Sequelize,
  sql: string,
  values: readonly unknown[],
  transaction: Transaction | undefined,
): Promise<Result> {
  // The driver would take it for NULL.
  if (values.includes(undefined)) throw new Error('a value of a statement is undefined');
  if (transaction) return sendIn(transaction, sql, values);
  const connection = (await db.connectionManager.getConnection({ type: 'write' })) as Connection;
  try {
    return await send(connection, sql, values);
  } finally {
    db.connectionManager.releaseConnection(connection);
  }
}

/** A deadlock ends its transaction at the server, so it does here: nothing more may be sent in it. */
async function sendIn<Result extends QueryResult>(
  transaction: Transaction,
  sql: string,
  values: readonly unknown[],
): Promise<Result> {
  try {
    return await send(connectionOf(transaction), sql, values);
  } catch (error) {
    if (isDeadlock(error)) await transaction.rollback();
    throw error;
  }
}

function send<Result extends QueryResult>(
  connection: Connection,
  sql: string,
  values: readonly unknown[],
): Promise<Result> {
  return new Promise((resolve, reject) => {
    connection.query<Result>(sql, values as unknown[], (error: QueryError | null, result) =>
      error ? reject(error) : resolve(result),
    );
  });
}

/** The connection that a transaction holds: Sequelize keeps it there for its own queries. */
function connectionOf(transaction: Transaction): Connection {
  return (transaction as Transaction & { connection: Connection }).connection;
}
