import type { QueryResult } from 'mysql2';
import type { Sequelize } from 'sequelize';
import { acquireConnection, discardConnection, releaseConnection, send } from '../../runtime/db/connection.ts';
import type { Statement } from '../../runtime/db/statements.ts';

/** Runs SELECTs on one snapshot of a database, in one round trip: what they answer was all true at one moment. */
export async function readTogether<Results extends readonly object[][]>(
  db: Sequelize,
  statements: readonly Statement[],
): Promise<Results> {
  const connection = await acquireConnection(db);
  const sql = [
    'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ',
    'START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY',
    ...statements.map((statement) => statement.sql),
    'COMMIT',
  ].join(';\n');
  try {
    const values = statements.flatMap((statement) => statement.values);
    const results = await send<QueryResult>(connection, sql, values);
    releaseConnection(db, connection);
    return (results as unknown[]).slice(2, -1) as unknown as Results;
  } catch (error) {
    discardConnection(db, connection);
    throw error;
  }
}

/** Which numbers to read: those after `from` up to `to`, or these. */
export type Numbers = { readonly from: string; readonly to: string } | readonly string[];

/** The condition on `order_no`, and its values. */
export function among(numbers: Numbers): Statement {
  return 'from' in numbers
    ? { sql: 'order_no > ? AND order_no <= ?', values: [numbers.from, numbers.to] }
    : { sql: 'order_no IN (?)', values: [numbers] };
}
