import { setTimeout as sleep } from 'node:timers/promises';
import { remainingMs } from '../../runtime/rpc/deadline.ts';
import { findClaimByKey } from '../db/claims.ts';
import { stageRestores } from '../db/stage-restores.ts';
import type { Intent } from '../domain/intent.ts';
import { checkSameIntent } from '../domain/order.ts';
import { orderError } from '../domain/reasons.ts';
import type { Call, Saga } from './saga.ts';

/** Milliseconds between two looks at somebody else's claim. */
const POLL_MS = 20;
/** The answer has to reach the caller before his deadline does. */
const ANSWER_MS = 100;

/**
 * Waits until the attempt that holds the intent's key is over, or its claim has expired and is taken away here. Then it is time to
 * look again.
 *
 * @throws ABORTED `REQUEST_IN_PROGRESS` when the caller's deadline nears, and the conflict when the key is not for this intent.
 */
export async function waitForOutcome(saga: Saga, intent: Intent, call: Call): Promise<void> {
  const key = intent.clientRequestId!;
  for (;;) {
    const claim = await findClaimByKey(saga.db, key);
    if (!claim) return;
    checkSameIntent(claim, intent);
    if (claim.expired) {
      call.log.warn({ expired_order_no: claim.orderNo }, 'took over an expired claim');
      await stageRestores(saga.db, [claim.orderNo]);
      return;
    }
    if (remainingMs(call) < ANSWER_MS) {
      throw orderError('REQUEST_IN_PROGRESS', 'a request with this client_request_id is at work');
    }
    await pause(saga.inFlight.attemptOf(key), call.signal);
  }
}

async function pause(attempt: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
  const cancel = new AbortController();
  const waits: Promise<unknown>[] = [sleep(POLL_MS, undefined, { signal: AbortSignal.any([signal, cancel.signal]) })];
  if (attempt) waits.push(attempt);
  try {
    await Promise.race(waits);
  } finally {
    cancel.abort();
    await Promise.allSettled(waits.slice(0, 1));
  }
}
