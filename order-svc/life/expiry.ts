import { setTimeout as sleep } from 'node:timers/promises';
import { wasRolledBack } from '../../runtime/db/sql-errors.ts';
import { GroupCommit } from '../../runtime/group-commit.ts';
import type { Logger } from '../../runtime/lifecycle/logger.ts';
import { expireTogether, findUnpaid } from '../db/cancel-orders.ts';
import type { OrderDb } from '../db/models.ts';

/** Orders of one pass: they are found at once, since the way to the oldest leads over those that were just cancelled. */
const LIMIT = 500;
/** Orders of one transaction: some milliseconds of locks. */
const BATCH = 100;
/** Pause after each, in times of what it took. At 1, 64 callers got a third of the orders that they got without; at 3, most of them. */
const REST = 3;

/**
 * One pass of the expiry: cancels orders that were not paid in time. True: there may be more. Any number may run: an order that another
 * one has in hand is passed over.
 */
export async function expireOnce(db: OrderDb, payWindowMs: number, logger: Logger): Promise<boolean> {
  const unpaid = await findUnpaid(db, payWindowMs, LIMIT);
  // One transaction at a time. What fails is tried one by one, so that no order can keep the others from expiring.
  const batches = new GroupCommit<string, boolean>({
    run: (orderNos) => unhurried(() => expireTogether(db, orderNos)),
    runAlone: wasRolledBack,
    maxSize: BATCH,
    spareLanes: 0,
  });
  const outcomes = await Promise.allSettled(unpaid.map((orderNo) => batches.submit(orderNo)));
  const expired = outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value).length;
  const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
  if (expired > 0) logger.info({ orders: expired }, 'cancelled orders that were not paid in time');
  if (failed.length > 0)
    logger.error({ orders: failed.length, err: failed[0]!.reason as Error }, 'could not expire orders');
  return unpaid.length === LIMIT && expired > 0;
}

/** Then waits: however many orders have to expire, and however slow the database is, most of it is left to those who buy. */
async function unhurried<T>(work: () => Promise<T>): Promise<T> {
  const startMs = performance.now();
  try {
    return await work();
  } finally {
    await sleep((performance.now() - startMs) * REST);
  }
}
