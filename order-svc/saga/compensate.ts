import type { CallLog } from '../../runtime/lifecycle/logger.ts';
import { deleteClaim } from '../db/claims.ts';
import { findOrderByNo } from '../db/find-orders.ts';
import { stageRestores } from '../db/stage-restores.ts';
import { step } from '../domain/steps.ts';
import type { Saga } from './saga.ts';
import { NothingTakenError } from './failures.ts';

/**
 * Undoes a broken attempt, for which no order exists nor ever will: gives back what it took, then takes its claim away. What cannot
 * be given back now becomes a STOCK_RESTORE event; when not even that can be written, the claim stands, expires, and is reaped.
 *
 * Never throws: an error of the compensation must not hide the error that it answers.
 */
export async function compensate(saga: Saga, orderNo: string, error: unknown, log: CallLog): Promise<void> {
  try {
    if (!(error instanceof NothingTakenError)) await giveBack(saga, orderNo);
    await deleteClaim(saga.db, orderNo);
    return;
  } catch (err) {
    log.warn({ err }, 'could not give the stock back now');
  }
  try {
    await stageRestores(saga.db, [orderNo]);
  } catch (err) {
    log.error({ err }, 'could not stage the restore: left to the reaper');
  }
}

async function giveBack(saga: Saga, orderNo: string): Promise<void> {
  // An order under this number is another attempt's, and so is what the ledger holds under it.
  if (await findOrderByNo(saga.db, orderNo)) return;
  await step('compensate.restore', () => saga.stock.restore({ orderNo }, { timeoutMs: saga.compensationMs }));
}
