import { type CallOptions, type Client, ConnectError, createContextValues } from '@connectrpc/connect';
import type { BatchDeductResult, StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { receivedError, reasonOf } from '../../runtime/rpc/errors.ts';
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
  const [only] = calls;
  if (calls.length === 1 && only) {
    const request = { orderNo: only.orderNo, items: linesOf(only) };
    try {
      return [(await stock.deduct(request, { ...options, signal: only.signal })).items];
    } catch (error) {
      // The last of the failed attempts is the answer itself.
      return [failureOf(ConnectError.from(error), failed.length - 1)];
    }
  }
  const deductions = calls.map((call) => ({ orderNo: call.orderNo, items: linesOf(call) }));
  const { results } = await stock.batchDeduct({ deductions }, options);
  return results.map(({ result }) => outcomeOf(result, failed.length));
}

function linesOf({ lines }: DeductCall) {
  return lines.map((line) => ({ ...line }));
}

function outcomeOf(result: BatchDeductResult['result'], openAttempts: number): Snapshot[] | Error {
  if (result.case === 'deducted') return result.value.items;
  if (result.case === 'failure') return failureOf(receivedError(result.value), openAttempts);
  return new Error('stock-svc answered without a result');
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
