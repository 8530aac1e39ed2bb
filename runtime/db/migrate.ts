import { type Sequelize, QueryTypes } from 'sequelize';
import { SequelizeStorage, Umzug } from 'umzug';
import type { Logger } from '../lifecycle/logger.ts';

/** One step of a schema. Steps are run in order, each once, and never changed after a release. */
export interface Migration {
  /** Number and what it does: `001-orders`. */
  readonly name: string;
  /** Must be safe to run again after it broke off half way: DDL of MySQL is not transactional. */
  readonly up: (db: Sequelize) => Promise<unknown>;
}

/** How long a process waits for another one that is migrating, in seconds. */
const LOCK_WAIT_SECONDS = 120;

/**
 * Brings the schema up to date. However many processes start together, one runs the steps and the others wait for it.
 *
 * @throws when another process holds the lock for more than 120 s, or a step fails.
 */
export async function migrate(db: Sequelize, migrations: readonly Migration[], logger: Logger): Promise<void> {
  const umzug = new Umzug({
    migrations: migrations.map(({ name, up }) => ({ name, up: () => up(db) })),
    storage: new SequelizeStorage({ sequelize: db, tableName: 't_migration' }),
    logger: undefined,
  });
  umzug.on('migrated', ({ name }) => logger.info({ migration: name }, 'migrated'));
  // A named lock belongs to a connection; a transaction is Sequelize's way to keep one.
  await db.transaction(async (transaction) => {
    const name = `CONCAT('migrate:', LEFT(DATABASE(), 48))`;
    const [row] = await db.query<{ got: number | string | null }>(
      `SELECT GET_LOCK(${name}, ${LOCK_WAIT_SECONDS}) AS got`,
      {
        type: QueryTypes.SELECT,
        transaction,
      },
    );
    if (Number(row?.got) !== 1) throw new Error('another process is migrating this database and does not end');
    try {
      await umzug.up();
    } finally {
      // When the connection is lost, so is the lock; what failed before is what to report.
      await db.query(`SELECT RELEASE_LOCK(${name})`, { transaction }).catch(() => {});
    }
  });
}
