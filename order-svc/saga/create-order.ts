import { findOrderByKey } from '../db/find-orders.ts';
import type { Intent } from '../domain/intent.ts';
import { checkSameIntent, newOrder } from '../domain/order.ts';
import { claim } from './claim.ts';
import { compensate } from './compensate.ts';
import { deduct } from './deduct.ts';
import { NumberTakenError, OutcomeUnknownError, toCaller } from './failures.ts';
import { persist } from './persist.ts';
import type { Call, Outcome, Saga } from './saga.ts';
import { waitForOutcome } from './wait-for-outcome.ts';

/**
 * Makes the order of an intent, once. `compensate` undoes what a broken attempt has done; an attempt whose process dies is undone
 * by the reaper when its claim expires.
 */
export async function createOrder(saga: Saga, intent: Intent, call: Call): Promise<Outcome> {
  for (;;) {
    call.signal.throwIfAborted();
    // Pre-check: nearly every repeat ends here, with no side effect.
    const existing = await replay(saga, intent);
    if (existing) return existing;

    // Claim: from here on there is either this attempt, or nothing, or the order.
    const orderNo = await saga.numbers.next(intent.userId);
    const attempt: Call = { ...call, log: call.logAs(orderNo) };
    const conflict = await claim(saga, orderNo, intent, attempt);
    if (conflict === 'uk_client_request_id') await waitForOutcome(saga, intent, call);
    if (conflict) continue;

    const done = saga.inFlight.begin(intent.clientRequestId);
    try {
      // Deduct outside any transaction; persist in one, which ends the claim; the unique key is the final gate.
      const snapshots = await deduct(saga, orderNo, intent, attempt);
      const order = await persist(saga, newOrder(orderNo, intent, snapshots), attempt);
      attempt.log.info('order created');
      return { order, replayed: false };
    } catch (error) {
      if (error instanceof OutcomeUnknownError) throw toCaller(error);
      await compensate(saga, orderNo, error, attempt.log);
      if (error instanceof NumberTakenError) continue;
      // Whatever broke this attempt, the intent may have become an order through another one.
      const winner = await replay(saga, intent);
      if (winner) return winner;
      throw toCaller(error);
    } finally {
      done();
    }
  }
}

async function replay(saga: Saga, intent: Intent): Promise<Outcome | undefined> {
  if (intent.clientRequestId === undefined) return undefined;
  const order = await findOrderByKey(saga.db, intent.clientRequestId);
  if (!order) return undefined;
  checkSameIntent(order, intent);
  return { order, replayed: true };
}
