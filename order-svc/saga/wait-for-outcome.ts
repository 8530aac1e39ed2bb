import { sleep } from '../../runtime/lifecycle/sleep.ts';
import { remainingMs } from '../../runtime/rpc/deadline.ts';
import { findClaimByKey } from '../db/claims.ts';
import { stageRestores } from '../db/stage-restores.ts';
import type { Intent } from '../domain/intent.ts';
import { checkSameIntent } from '../domain/order.ts';
import { orderError } from '../domain/reasons.ts';
import type { LocalAttempt } from './in-flight.ts';
import type { Call, Saga } from './saga.ts';

/** Milliseconds between two looks at the claim of another process. */
const POLL_MS = 20;
/** The answer has to reach the caller before his deadline does. */
const ANSWER_MS = 100;

/**
 * Waits until the attempt of this process that has the intent's key is over. Then it is time to look again.
 *
 * @throws ABORTED `REQUEST_IN_PROGRESS` when the caller's deadline nears, and the conflict when the key is not for this intent.
 */
export async function waitForLocalAttempt(attempt: LocalAttempt, intent: Intent, call: Call): Promise<void> {
  checkSameIntent(attempt.intent, intent);
  const over = attempt.over.then(() => true);
  const late = sleep(Math.max(remainingMs(call) - ANSWER_MS, 0), call.signal).then(() => false);
  if (!(await Promise.race([over, late]))) throw inProgress();
}

/**
 * Waits until the attempt of another process that holds the intent's key is over, or its claim has expired and is taken away here.
 * Then it is time to look again.
 *
 * @throws as `waitForLocalAttempt`.
 */
export async function waitForOutcome(saga: Saga, intent: Intent, call: Call): Promise<void> {
  for (;;) {
    const claim = await findClaimByKey(saga.db, intent.clientRequestId!);
    if (!claim) return;
    checkSameIntent(claim, intent);
    if (claim.expired) {
      call.log.warn({ expired_order_no: claim.orderNo }, 'took over an expired claim');
      await stageRestores(saga.db, [claim.orderNo]);
      return;
    }
    if (remainingMs(call) < ANSWER_MS) throw inProgress();
    await sleep(POLL_MS, call.signal);
  }
}

function inProgress() {
  return orderError('REQUEST_IN_PROGRESS', 'a request with this client_request_id is at work');
}
