import { remainingMs } from '../../runtime/rpc/deadline.ts';
import type { ClaimConflict } from '../db/claims.ts';
import type { Intent } from '../domain/intent.ts';
import { compensate } from './compensate.ts';
import type { Call, Saga } from './saga.ts';
import { NothingTakenError } from './failures.ts';

/**
 * Puts up the dead man's switch of an attempt: while it stands there is no order, and when its time has passed whoever finds it gives
 * the stock back. Returns which column was taken already, if one was.
 */
export async function claim(
  saga: Saga,
  orderNo: string,
  intent: Intent,
  call: Call,
): Promise<ClaimConflict | undefined> {
  const leaseMs = remainingMs(call) + saga.claimMarginMs;
  try {
    return await saga.batches.claim({ orderNo, intent, leaseMs }, call.signal);
  } catch (error) {
    // The claim may stand although its answer was lost: left alone, it would keep the intent waiting until it expires.
    await compensate(saga, orderNo, new NothingTakenError('no claim', { cause: error }), call.log);
    throw error;
  }
}
