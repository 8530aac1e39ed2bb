import { ConnectError } from '@connectrpc/connect';
import { commonError } from '../../runtime/rpc/errors.ts';
import { ClaimLostError } from '../db/persist-orders.ts';
import { orderError } from '../domain/reasons.ts';

/** The attempt failed for certain before any stock was taken. `cause` is what the caller is told. */
export class NothingTakenError extends Error {
  override readonly name = 'NothingTakenError';
}

/** stock-svc refused, but an attempt before may still take stock. `cause` is what the caller is told. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** The order number belongs to an order that exists. What was taken under it is that order's. */
export class NumberTakenError extends Error {
  override readonly name = 'NumberTakenError';
}

/** The order may be there or not, and nobody can tell now. Its claim, if it stands, expires and is reaped. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
}

/** What the caller is told of what broke his attempt. */
export function toCaller(error: unknown): unknown {
  if (error instanceof NothingTakenError || error instanceof RefusedError) return error.cause;
  if (error instanceof OutcomeUnknownError) {
    return commonError('SERVICE_UNAVAILABLE', 'the outcome is not known yet', { cause: error });
  }
  if (error instanceof ClaimLostError) {
    return orderError('ATTEMPT_EXPIRED', 'this attempt took too long and was undone', { cause: error });
  }
  if (error instanceof ConnectError && error.isWireError) {
    return commonError('SERVICE_UNAVAILABLE', 'stock-svc is not available', { cause: error });
  }
  return error;
}
