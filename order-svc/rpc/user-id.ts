import type { HandlerContext } from '@connectrpc/connect';
import { commonError } from '../../runtime/rpc/errors.ts';
import { callerOf } from '../../runtime/rpc/identity/caller.ts';

const MAX_INT64 = 2n ** 63n - 1n;

/** The user for whom the call is made: a token's `sub`, or the `x-user-id` of a trusted gateway. Never read from the request's body. */
export function userIdOf(context: Pick<HandlerContext, 'values'>): bigint {
  const { subject } = callerOf(context);
  if (subject === undefined)
    throw commonError('UNAUTHENTICATED', 'the call names no user: x-user-id, or sub of a token');
  if (!/^[1-9]\d{0,18}$/.test(subject) || BigInt(subject) > MAX_INT64) {
    throw commonError(
      'UNAUTHENTICATED',
      'the user, x-user-id or sub of a token, must be one positive int64 in decimal',
    );
  }
  return BigInt(subject);
}
