import type { Sequelize, Transaction } from 'sequelize';
import { isDeadlock, UnknownCommitError } from './sql-errors.ts';

/** How often a transaction is run that the server picks as a deadlock's victim. */
const DEADLOCK_ATTEMPTS = 5;

/**
 * Runs `work` in one transaction and commits it. When `work` throws, all is rolled back and the error is thrown on; what
 * a deadlock rolled back is run again, up to 5 times in all, so `work` must do nothing outside the transaction.
 *
 * @throws UnknownCommitError when the outcome of COMMIT is unknown. After any other error nothing was committed.
 */
export async function inTransaction<T>(db: Sequelize, work: (tx: Transaction) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const tx = await db.transaction();
    let result: T;
    try {
      result = await work(tx);
      if (isOver(tx)) throw new Error('the work caught a deadlock, which had rolled the transaction back');
    } catch (error) {
      await rollBack(tx);
      if (isDeadlock(error) && attempt < DEADLOCK_ATTEMPTS) continue;
      throw error;
    }
    try {
      await tx.commit();
    } catch (cause) {
      throw new UnknownCommitError('the outcome of COMMIT is unknown', { cause });
    }
    return result;
  }
}

async function rollBack(tx: Transaction): Promise<void> {
  // Sequelize has rolled back by itself after a deadlock, and a second rollback() throws.
  if (isOver(tx)) return;
  try {
    await tx.rollback();
  } catch {
    // The connection is lost, and Sequelize has closed it: the server rolls back what was open on it.
  }
}

function isOver(tx: Transaction): boolean {
  return (tx as Transaction & { finished?: string }).finished !== undefined;
}
