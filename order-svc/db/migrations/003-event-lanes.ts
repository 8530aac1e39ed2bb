import type { Migration } from '../../../runtime/db/migrate.ts';
import { select } from '../../../runtime/db/statements.ts';

/** Each event has a lane, by which a relay finds the jobs for stock-svc however much news waits for a broker that is away. */
export const eventLanes: Migration = {
  name: '003-event-lanes',
  async up(db) {
    const [there] = await select(
      db,
      `SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 't_event_record' AND column_name = 'lane'`,
      [],
    );
    if (there) return;
    // One ALTER: it is done or not done, never half.
    await db.query(`
      ALTER TABLE t_event_record
        ADD COLUMN lane VARCHAR(4) CHARACTER SET ascii COLLATE ascii_bin
          AS (IF(event_type = 'STOCK_RESTORE', 'JOB', 'NEWS')) VIRTUAL,
        DROP KEY idx_status_next_retry_time,
        ADD KEY idx_status_lane_next_retry_time (status, lane, next_retry_time)`);
  },
};
