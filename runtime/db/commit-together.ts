import type { ResultSetHeader } from 'mysql2';
import type { Sequelize } from 'sequelize';
import { acquireConnection, discardConnection, refuseUndefined, releaseConnection, send } from './connection.ts';
import { isSubqueryOfRows, UnknownCommitError, wasRolledBack } from './sql-errors.ts';
import { joined, type Statement } from './statements.ts';
import { againAfterDeadlock, rollBack } from './transaction.ts';

/** A statement changed other than the number of rows that it had to, so that nothing was committed. */
export class UnexpectedRowsError extends Error {
  override readonly name = 'UnexpectedRowsError';
}

/** A statement of a transaction that is sent whole. */
export interface GuardedStatement extends Statement {
  /** The rows that it has to change: when it changes fewer or more, all is rolled back. Default: any number. */
  readonly mustChange?: number;
}

/**
 * Runs statements in one transaction and commits it, in one round trip: none of its locks ever waits for this process, be it slow,
 * stopped or gone. Returns what each statement answered: a SELECT its rows, any other `affectedRows`. No statement may use a subquery of
 * several rows as a value: that is how a guard fails.
 *
 * @param step sends it, as a step of the service.
 * @throws UnexpectedRowsError, or the error of the statement that failed: nothing was committed. UnknownCommitError: nobody knows, since
 *   the connection was lost or COMMIT failed.
 */
export function commitTogether<Results extends readonly (ResultSetHeader | object[])[]>(
  db: Sequelize,
  statements: readonly GuardedStatement[],
  step: (send: () => Promise<unknown>) => Promise<unknown> = (send) => send(),
): Promise<Results> {
  return againAfterDeadlock(() => commitOnce(db, statements, step)) as Promise<unknown> as Promise<Results>;
}

async function commitOnce(
  db: Sequelize,
  statements: readonly GuardedStatement[],
  step: (send: () => Promise<unknown>) => Promise<unknown>,
): Promise<unknown[]> {
  const all = [
    BEGIN,
    ...statements.flatMap((one) => (one.mustChange === undefined ? [one] : [one, guard(one.mustChange)])),
    COMMIT,
  ];
  const { sql, values } = joined(all);
  refuseUndefined(values);
  const connection = await acquireConnection(db);
  let answered = 0;
  let results: unknown[] = [];
  try {
    await step(async () => {
      results = await send<ResultSetHeader[]>(connection, sql, values, () => answered++);
    });
  } catch (error) {
    if (!wasRolledBack(error) || answered === all.length - 1) {
      discardConnection(db, connection);
      throw new UnknownCommitError('the outcome of COMMIT is unknown', { cause: error });
    }
    await rollBack(db, connection);
    if (isSubqueryOfRows(error)) throw new UnexpectedRowsError(`statement ${answered} changed other rows`);
    throw error;
  }
  releaseConnection(db, connection);
  return results.filter((_, i) => statements.includes(all[i]!));
}

const BEGIN: Statement = { sql: 'START TRANSACTION', values: [] };
const COMMIT: Statement = { sql: 'COMMIT', values: [] };

/** Fails when the statement before it has not changed so many rows. Plain SQL knows no other way to say so. */
function guard(rows: number): Statement {
  return { sql: 'SET @guard = IF(ROW_COUNT() = ?, 0, (SELECT 1 UNION ALL SELECT 2))', values: [rows] };
}
