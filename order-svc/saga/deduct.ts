import { remainingMs } from '../../runtime/rpc/deadline.ts';
import type { Intent } from '../domain/intent.ts';
import type { Snapshot } from '../domain/order.ts';
import type { Call, Saga } from './saga.ts';

/**
 * Takes the stock of all lines in one call, outside any transaction.
 *
 * @throws NothingTakenError when nothing was taken. After any other error something may have been, or may yet be: the request of a
 * failed attempt can still be on its way.
 */
export function deduct(saga: Saga, orderNo: string, { lines }: Intent, call: Call): Promise<Snapshot[]> {
  const { signal, log } = call;
  return saga.batches.deduct.submit({ orderNo, lines, timeoutMs: () => remainingMs(call), signal, log }, signal);
}
