import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { isDatabaseAway } from '../db/sql-errors.ts';
import { type Logger, loggerKey } from '../lifecycle/logger.ts';
import { abortedError, commonError, reasonOf } from './errors.ts';

/**
 * Server interceptor, the outermost: gives each call a logger of its own (`loggerKey`), writes one line when the call ends, and
 * lets out only errors of the catalogue. Anything else leaves as INTERNAL, or as UNAVAILABLE when the database is away, with
 * nothing of its text, and is logged with its cause.
 */
export function requestLog(logger: Logger): Interceptor {
  return (next) => async (request) => {
    const startMs = performance.now();
    request.contextValues.set(loggerKey, logger.child({ rpc: request.method.name }));
    const took = () => Math.round(performance.now() - startMs);
    try {
      const response = await next(request);
      request.contextValues.get(loggerKey).info({ code: 'OK', duration_ms: took() }, 'served');
      return response;
    } catch (reason) {
      const log = request.contextValues.get(loggerKey);
      const error = toRpcError(reason, request.signal);
      const line = { code: Code[error.code], reason: reasonOf(error), duration_ms: took() };
      const fault = error.code === Code.Internal || error.code === Code.Unavailable;
      if (fault) log.error({ ...line, err: error.cause ?? error }, error.rawMessage);
      else log.info(line, error.rawMessage);
      throw error;
    }
  };
}

/** Any thrown value as an error that may be sent. */
export function toRpcError(reason: unknown, signal: AbortSignal): ConnectError {
  if (reason instanceof ConnectError && reasonOf(reason) !== undefined) return reason;
  if (signal.aborted) return abortedError(signal);
  if (isDatabaseAway(reason))
    return commonError('SERVICE_UNAVAILABLE', 'the database is not available', { cause: reason });
  return commonError('INTERNAL', 'internal error', { cause: reason });
}
