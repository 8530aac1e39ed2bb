import { type Sequelize, Transaction } from 'sequelize';
import { until } from './expect.ts';

/**
 * Runs a statement in a transaction that is left open: whoever needs the rows that it has locked waits. Returns what rolls it back, and so
 * lets them go on.
 */
export async function holdRows(
  db: Sequelize,
  sql: string,
  values: readonly unknown[] = [],
): Promise<() => Promise<void>> {
  const transaction = await db.transaction({ isolationLevel: Transaction.ISOLATION_LEVELS.READ_COMMITTED });
  await db.query(sql, { replacements: [...values], transaction });
  return () => transaction.rollback();
}

/** Waits until a transaction that is not over has locked what a SELECT finds. */
export async function untilLocked(db: Sequelize, select: string, values: readonly unknown[] = []): Promise<void> {
  await until('the rows are locked', () =>
    db.query(`${select} FOR UPDATE NOWAIT`, { replacements: [...values] }).then(
      () => false,
      (error: unknown) => [1205, 3572].includes((error as { parent: { errno: number } }).parent.errno),
    ),
  );
}

/**
 * InnoDB answers from a copy of the table, which it makes anew only when nobody has read it for 100 ms: whoever asks more often is told the
 * same for ever.
 */
const LOOK_MS = 150;

/** Waits until so many transactions wait for rows. */
export async function untilWaiting(db: Sequelize, count: number): Promise<void> {
  const enoughWait = async () => {
    const [rows] = await db.query("SELECT 1 FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'");
    return rows.length >= count;
  };
  await until(`${count} wait for rows`, enoughWait, 5000, LOOK_MS);
}
