import type { Pool } from 'mysql2/promise';
import { type EventHandler, OrderEventType } from '../../client/order-events.ts';

/** Cents of an order for which its user gets a point. */
const CENTS_PER_POINT = 100n;

export async function createPointsTable(db: Pool): Promise<void> {
  await db.query(`
    CREATE TABLE IF NOT EXISTS t_points (
      user_id BIGINT NOT NULL,
      points BIGINT NOT NULL,
      PRIMARY KEY (user_id)
    ) ENGINE=InnoDB`);
}

/**
 * Gives points for an order when it is created, and takes them back when it is cancelled. Nothing here looks whether it has been done
 * before: that is what the consumer sees to.
 */
export const countPoints: EventHandler = async ({ type, userId, totalAmountCents }, tx) => {
  const points = totalAmountCents / CENTS_PER_POINT;
  if (type === OrderEventType.ORDER_CREATED) await add(points);
  if (type === OrderEventType.ORDER_CANCELLED) await add(-points);

  async function add(change: bigint): Promise<void> {
    const sql = 'INSERT INTO t_points (user_id, points) VALUES (?, ?) ON DUPLICATE KEY UPDATE points = points + ?';
    await tx.query(sql, [userId, change, change]);
  }
};
