import { type CallOptions, type Client, ConnectError, createContextValues } from '@connectrpc/connect';
import type { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import type { CallLog } from '../../runtime/lifecycle/logger.ts';
import { commonError, receivedError, reasonOf } from '../../runtime/rpc/errors.ts';
import { wasNotSent } from '../../runtime/rpc/not-sent.ts';
import { failedAttemptsKey } from '../../runtime/rpc/retry.ts';
import { ClaimLostError } from '../db/persist-orders.ts';
import type { Intent } from '../domain/intent.ts';
import type { Snapshot } from '../domain/order.ts';
import { NothingTakenError, NumberTakenError, RefusedError } from './failures.ts';

/** The stock that one attempt wants. */
export interface DeductCall {
  readonly orderNo: string;
  readonly lines: Intent['lines'];
  /** Milliseconds that are left of its caller's deadline. */
  readonly timeoutMs: () => number;
  /** Its caller's. */
  readonly signal: AbortSignal;
  readonly log: CallLog;
}

/** What stock-svc says when it took nothing and never will: it is passed on. Any other error leaves the outcome open. */
const REFUSALS = new Set([
  'PRODUCT_NOT_FOUND',
  'INSUFFICIENT_STOCK',
  'PRICE_CHANGED',
  'TOTAL_TOO_LARGE',
  'INVALID_REQUEST',
]);

/** Takes the stock of attempts in one call, and answers each in order. One alone is an ordinary Deduct, which ends with its caller. */
export async function deductTogether(
  stock: Client<typeof StockService>,
  calls: readonly DeductCall[],
): Promise<(Snapshot[] | Error)[]> {
  const failed: ConnectError[] = [];
  const options: CallOptions = {
    timeoutMs: Math.max(...calls.map((call) => call.timeoutMs())),
    contextValues: createContextValues().set(failedAttemptsKey, failed),
  };
  try {
    const outcomes = await send(stock, calls, options);
    noteAttempts(calls, failed.length + 1);
    const open = openOf(failed);
    return outcomes.map((outcome) => (outcome instanceof ConnectError ? failureOf(outcome, open) : outcome));
  } catch (reason) {
    noteAttempts(calls, failed.length);
    const error = ConnectError.from(reason);
    const open = openOf(failed);
    if (open === 0 && (wasNotSent(error) || isOverloaded(error))) {
      const cause = isOverloaded(error)
        ? commonError('OVERLOADED', 'stock-svc has too much to do now', { cause: error })
        : error;
      return calls.map(() => new NothingTakenError('no attempt was taken in hand', { cause }));
    }
    // An error of a whole batch says nothing of any one of them.
    if (calls.length > 1) throw error;
    // The last of the attempts is the answer itself.
    return [failureOf(error, open - 1)];
  }
}

async function send(
  stock: Client<typeof StockService>,
  calls: readonly DeductCall[],
  options: CallOptions,
): Promise<(Snapshot[] | Error)[]> {
  const deductions = calls.map((call) => ({ orderNo: call.orderNo, items: call.lines.map((line) => ({ ...line })) }));
  const [only] = calls;
  if (calls.length === 1 && only) {
    return [(await stock.deduct(deductions[0]!, { ...options, signal: only.signal })).items];
  }
  const { results } = await stock.batchDeduct({ deductions }, options);
  return results.map(({ result }) => {
    if (result.case === 'deducted') return result.value.items;
    if (result.case === 'failure') return receivedError(result.value);
    return new Error('stock-svc answered without a result');
  });
}

/** Attempts that may have taken something. */
function openOf(failed: readonly ConnectError[]): number {
  return failed.filter((error) => !isOverloaded(error)).length;
}

/** stock-svc has too much to do, and refused before it touched anything. */
function isOverloaded(error: ConnectError): boolean {
  return reasonOf(error) === 'OVERLOADED';
}

function noteAttempts(calls: readonly DeductCall[], attempts: number): void {
  if (attempts > 1) for (const { log } of calls) log.bind({ deduct_attempts: attempts });
}

/**
 * What an error of stock-svc means to the attempt.
 *
 * @param openAttempts attempts before the one that was answered, whose outcome nobody knows.
 */
function failureOf(error: ConnectError, openAttempts: number): Error {
  const reason = reasonOf(error);
  if (reason === 'ORDER_NO_REUSED') return new NumberTakenError('the order number took other items', { cause: error });
  if (reason === 'ORDER_CLOSED') return new ClaimLostError('the stock was given back meanwhile', { cause: error });
  if (reason === undefined || !REFUSALS.has(reason)) return error;
  if (openAttempts === 0) return new NothingTakenError('refused on the only attempt', { cause: error });
  return new RefusedError(`refused after ${openAttempts} attempts of unknown outcome`, { cause: error });
}
