import type { HandlerContext } from '@connectrpc/connect';
import { commonError } from '../../runtime/rpc/errors.ts';

const MAX_INT64 = 2n ** 63n - 1n;

/** The user that the trusted gateway names in `x-user-id`. Never read from the request's body. */
export function userIdOf(context: HandlerContext): bigint {
  const text = context.requestHeader.get('x-user-id');
  if (text === null) throw commonError('UNAUTHENTICATED', 'x-user-id is missing from the metadata');
  if (!/^[1-9]\d{0,18}$/.test(text) || BigInt(text) > MAX_INT64) {
    throw commonError('UNAUTHENTICATED', 'x-user-id must be one positive int64 in decimal');
  }
  return BigInt(text);
}
