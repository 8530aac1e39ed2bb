import { type ConnectError, createContextValues } from '@connectrpc/connect';
import { reasonOf } from '../../runtime/rpc/errors.ts';
import { remainingMs } from '../../runtime/rpc/deadline.ts';
import { failedAttemptsKey } from '../../runtime/rpc/retry.ts';
import { ClaimLostError } from '../db/persist-orders.ts';
import type { Intent } from '../domain/intent.ts';
import type { Snapshot } from '../domain/order.ts';
import type { Call, Saga } from './saga.ts';
import { NothingTakenError, NumberTakenError, RefusedError } from './failures.ts';

/** What stock-svc says when it took nothing and never will: it is passed on. Any other error leaves the outcome open. */
const REFUSALS = new Set([
  'PRODUCT_NOT_FOUND',
  'INSUFFICIENT_STOCK',
  'PRICE_CHANGED',
  'TOTAL_TOO_LARGE',
  'INVALID_REQUEST',
]);

/**
 * Takes the stock of all lines in one call, outside any transaction.
 *
 * @throws NothingTakenError when nothing was taken. After any other error something may have been, or may yet be: the request of a
 * failed attempt can still be on its way.
 */
export async function deduct(saga: Saga, orderNo: string, intent: Intent, call: Call): Promise<Snapshot[]> {
  const failed: ConnectError[] = [];
  try {
    const { items } = await saga.stock.deduct(
      { orderNo, items: intent.lines.map((line) => ({ ...line })) },
      {
        timeoutMs: remainingMs(call),
        signal: call.signal,
        contextValues: createContextValues().set(failedAttemptsKey, failed),
      },
    );
    if (failed.length > 0) call.log.info({ failed_attempts: failed.length }, 'stock taken after retries');
    return items;
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === 'ORDER_NO_REUSED') throw new NumberTakenError('the order number took other items', { cause: error });
    if (reason === 'ORDER_CLOSED') throw new ClaimLostError('the stock was given back meanwhile', { cause: error });
    if (reason !== undefined && REFUSALS.has(reason)) {
      if (failed.length === 1) throw new NothingTakenError('refused on the only attempt', { cause: error });
      throw new RefusedError(`refused after ${failed.length - 1} attempts of unknown outcome`, { cause: error });
    }
    throw error;
  }
}
