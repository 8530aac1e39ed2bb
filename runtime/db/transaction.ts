import type { Connection } from 'mysql2';
import type { Sequelize } from 'sequelize';
import { acquireConnection, discardConnection, releaseConnection, send } from './connection.ts';
import { isDeadlock, UnknownCommitError } from './sql-errors.ts';

/** A transaction at work: the statements that are given it are part of it. */
export class Transaction {
  /** The transaction's alone until it ends. */
  readonly connection: Connection;
  #begun = false;
  /** A deadlock has ended it at the server: nothing more may be sent in it. */
  over = false;

  constructor(connection: Connection) {
    this.connection = connection;
  }

  /** True for the first statement, which has to begin the transaction. */
  begins(): boolean {
    const begins = !this.#begun;
    this.#begun = true;
    return begins;
  }
}

/** How often a transaction is run that the server picks as a deadlock's victim. */
const DEADLOCK_ATTEMPTS = 5;

/**
 * Runs `work` in one transaction and commits it. When `work` throws, all is rolled back and the error is thrown on; what
 * a deadlock rolled back is run again, up to 5 times in all, so `work` must do nothing outside the transaction.
 *
 * @param step runs the COMMIT, as a step of the service.
 * @throws UnknownCommitError when the outcome of COMMIT is unknown. After any other error nothing was committed.
 */
export async function inTransaction<T>(
  db: Sequelize,
  work: (tx: Transaction) => Promise<T>,
  step: (commit: () => Promise<unknown>) => Promise<unknown> = (commit) => commit(),
): Promise<T> {
  return againAfterDeadlock(() => runOnce(db, work, step));
}

/** Runs a transaction, again when the server has picked it as a deadlock's victim. */
export async function againAfterDeadlock<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (!isDeadlock(error) || attempt >= DEADLOCK_ATTEMPTS) throw error;
    }
  }
}

async function runOnce<T>(
  db: Sequelize,
  work: (tx: Transaction) => Promise<T>,
  step: (commit: () => Promise<unknown>) => Promise<unknown>,
): Promise<T> {
  const connection = await acquireConnection(db);
  const tx = new Transaction(connection);
  let result: T;
  try {
    result = await work(tx);
    if (tx.over) throw new Error('the work caught a deadlock, which had rolled the transaction back');
  } catch (error) {
    await rollBack(db, connection);
    throw error;
  }
  try {
    await step(() => send(connection, 'COMMIT;'));
  } catch (cause) {
    discardConnection(db, connection);
    throw new UnknownCommitError('the outcome of COMMIT is unknown', { cause });
  }
  releaseConnection(db, connection);
  return result;
}

export async function rollBack(db: Sequelize, connection: Connection): Promise<void> {
  try {
    await send(connection, 'ROLLBACK;');
  } catch {
    // The connection is lost: the server rolls back what was open on it.
    discardConnection(db, connection);
    return;
  }
  releaseConnection(db, connection);
}
