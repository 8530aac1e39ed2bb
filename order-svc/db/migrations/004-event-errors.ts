import type { Migration } from '../../../runtime/db/migrate.ts';
import { select } from '../../../runtime/db/statements.ts';

/** Each event says why it failed the last time, for whoever has to decide what becomes of it. */
export const eventErrors: Migration = {
  name: '004-event-errors',
  async up(db) {
    const [there] = await select(
      db,
      `SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 't_event_record' AND column_name = 'last_error'`,
      [],
    );
    if (there) return;
    // One ALTER: it is done or not done, never half.
    await db.query(`
      ALTER TABLE t_event_record
        ADD COLUMN last_error VARCHAR(512) NULL COMMENT 'of the last attempt that failed',
        MODIFY COLUMN status VARCHAR(16) NOT NULL DEFAULT 'WAIT' COMMENT 'WAIT / SENT / DEAD / PARKED'`);
  },
};
