import type { QueryResult, ResultSetHeader } from 'mysql2';
import type { Sequelize } from 'sequelize';
import { acquireConnection, refuseUndefined, releaseConnection, send } from './connection.ts';
import { isDeadlock } from './sql-errors.ts';
import type { Transaction } from './transaction.ts';

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
 * Runs two or more statements in one round trip, in order, in the transaction. Returns what each answered: a SELECT its rows, any
 * other `affectedRows`. When one fails those after it are not run, and the error is its own.
 */
export function executeTogether<Results extends readonly (ResultSetHeader | object[])[]>(
  db: Sequelize,
  statements: readonly Statement[],
  transaction: Transaction,
): Promise<Results> {
  const { sql, values } = joined(statements);
  return query(db, sql, values, transaction) as Promise<unknown> as Promise<Results>;
}

/** Statements as one text that the server carries out in order. */
export function joined(statements: readonly Statement[]): Statement {
  return {
    sql: statements.map((statement) => statement.sql).join(';\n'),
    values: statements.flatMap((statement) => statement.values),
  };
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
  refuseUndefined(values);
  if (transaction) return queryIn(transaction, sql, values);
  const connection = await acquireConnection(db);
  try {
    return await send<Result>(connection, sql, values);
  } finally {
    releaseConnection(db, connection);
  }
}

async function queryIn<Result extends QueryResult>(
  transaction: Transaction,
  sql: string,
  values: readonly unknown[],
): Promise<Result> {
  if (transaction.over) throw new Error('the transaction is over: a deadlock has rolled it back');
  try {
    if (!transaction.begins()) return await send<Result>(transaction.connection, sql, values);
    const results = await send<ResultSetHeader[]>(transaction.connection, `START TRANSACTION;\n${sql}`, values);
    const own = results.slice(1);
    return (own.length === 1 ? own[0] : own) as QueryResult as Result;
  } catch (error) {
    if (isDeadlock(error)) transaction.over = true;
    throw error;
  }
}
