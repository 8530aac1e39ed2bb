import type { Intent } from '../domain/intent.ts';
import { checkSameIntent, newOrder } from '../domain/order.ts';
import { claim } from './claim.ts';
import { compensate } from './compensate.ts';
import { deduct } from './deduct.ts';
import { NumberTakenError, OutcomeUnknownError, toCaller } from './failures.ts';
import { persist } from './persist.ts';
import type { Call, Outcome, Saga } from './saga.ts';
import { waitForLocalAttempt, waitForOutcome } from './wait-for-outcome.ts';

/**
 * Makes the order of an intent, once. An attempt whose process dies is undone by the reaper when its claim expires.
 */
export async function createOrder(saga: Saga, intent: Intent, call: Call): Promise<Outcome> {
  for (;;) {
    call.signal.throwIfAborted();
    // Pre-check: nearly every repeat ends here, with no side effect.
    const existing = await replay(saga, intent, call.signal);
    if (existing) return existing;

    const local = saga.inFlight.find(intent.clientRequestId);
    if (local) {
      await waitForLocalAttempt(local, intent, call);
      continue;
    }
    // Only here it is known that it is no repeat: a new order, which is the first to be refused when there is too much to do.
    const leave = saga.newOrders.enter();
    const over = saga.inFlight.begin(intent);
    try {
      const outcome = await attempt(saga, intent, call);
      if (outcome) return outcome;
    } finally {
      over();
      leave();
    }
  }
}

/** One attempt, under a number of its own. Undefined: start over. */
async function attempt(saga: Saga, intent: Intent, call: Call): Promise<Outcome | undefined> {
  const orderNo = await saga.numbers.next(intent.userId);
  call.log.bind({ order_no: orderNo });
  // Claim: from here on there is either this attempt, or nothing, or the order.
  const conflict = await claim(saga, orderNo, intent, call);
  if (conflict === 'uk_client_request_id') await waitForOutcome(saga, intent, call);
  if (conflict) return undefined;
  try {
    // Deduct outside any transaction; persist in one, which ends the claim; the unique key is the final gate.
    const snapshots = await deduct(saga, orderNo, intent, call);
    const order = await persist(saga, newOrder(orderNo, intent, snapshots), call);
    return { order, replayed: false };
  } catch (error) {
    if (error instanceof OutcomeUnknownError) throw toCaller(error);
    await compensate(saga, orderNo, error, call.log);
    if (error instanceof NumberTakenError) return undefined;
    // Whatever broke this attempt, the intent may have become an order through another one.
    const winner = await replay(saga, intent);
    if (winner) return winner;
    throw toCaller(error);
  }
}

async function replay(saga: Saga, intent: Intent, signal?: AbortSignal): Promise<Outcome | undefined> {
  if (intent.clientRequestId === undefined) return undefined;
  const order = await saga.batches.findByKey.submit(intent.clientRequestId, signal);
  if (!order) return undefined;
  checkSameIntent(order, intent);
  return { order, replayed: true };
}
