import { ConnectError } from '@connectrpc/connect';
import { isDatabaseAway } from '../db/sql-errors.ts';
import { abortedError, commonError, reasonOf } from './errors.ts';

/** Any thrown value as an error that may be sent. */
export function toRpcError(reason: unknown, signal: AbortSignal): ConnectError {
  if (reason instanceof ConnectError && reasonOf(reason) !== undefined) return reason;
  if (signal.aborted) return abortedError(signal);
  if (isDatabaseAway(reason))
    return commonError('SERVICE_UNAVAILABLE', 'the database is not available', { cause: reason });
  return commonError('INTERNAL', 'internal error', { cause: reason });
}
