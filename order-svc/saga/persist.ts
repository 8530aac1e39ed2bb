import { duplicateKey, UnknownCommitError } from '../../runtime/db/sql-errors.ts';
import { claimStands } from '../db/claims.ts';
import { findOrderByNo } from '../db/find-orders.ts';
import { ClaimLostError } from '../db/persist-orders.ts';
import type { NewOrder, Order } from '../domain/order.ts';
import type { Call, Saga } from './saga.ts';
import { NumberTakenError, OutcomeUnknownError } from './failures.ts';

/**
 * Writes the order in place of its claim.
 *
 * @throws OutcomeUnknownError when nobody can tell whether it was written. After any other error it was not, and never will be.
 */
export async function persist(saga: Saga, order: NewOrder, { log, signal }: Call): Promise<Order> {
  try {
    return await saga.batches.persist(order, signal);
  } catch (error) {
    if (duplicateKey(error) === 'uk_order_no')
      throw new NumberTakenError('the order number is taken', { cause: error });
    if (!(error instanceof UnknownCommitError)) throw error;
    log.warn({ err: error }, 'the outcome of COMMIT is unknown');
    return settle(saga, order.orderNo, error);
  }
}

/** Asks the claim, which the transaction of unknown outcome took away if it was committed. */
async function settle(saga: Saga, orderNo: string, lost: UnknownCommitError): Promise<Order> {
  let stands: boolean;
  let order: Order | undefined;
  try {
    stands = await claimStands(saga.db, orderNo);
    order = stands ? undefined : await findOrderByNo(saga.db, orderNo);
  } catch (error) {
    throw new OutcomeUnknownError('the outcome of COMMIT could not be asked for', { cause: error });
  }
  if (stands) throw lost;
  if (!order) throw new ClaimLostError('the claim was taken away before COMMIT', { cause: lost });
  return order;
}
