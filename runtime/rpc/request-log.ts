import { Code, type Interceptor } from '@connectrpc/connect';
import { CallLog, type Logger, setCallLog } from '../lifecycle/logger.ts';
import { reasonOf } from './errors.ts';
import { isRefusal } from './overload.ts';
import { toRpcError } from './to-rpc-error.ts';

/**
 * Server interceptor, the outermost: gives each call a log of its own (`callLogOf`), writes one line when the call ends, and lets out
 * only errors of the catalogue. Anything else leaves as INTERNAL, or as UNAVAILABLE when the database is away, with nothing of its
 * text, and is logged with its cause.
 */
export function requestLog(logger: Logger): Interceptor {
  return (next) => async (request) => {
    const startMs = performance.now();
    const log = new CallLog(logger, { rpc: request.method.name, ...attemptOf(request.header) });
    setCallLog(request.contextValues, log);
    const took = () => Math.round(performance.now() - startMs);
    try {
      const response = await next(request);
      log.info({ code: 'OK', duration_ms: took() }, 'served');
      return response;
    } catch (reason) {
      // The bound itself logs how many.
      if (isRefusal(reason)) throw reason;
      const error = toRpcError(reason, request.signal);
      const line = { code: Code[error.code], reason: reasonOf(error), duration_ms: took() };
      const fault = error.code === Code.Internal || error.code === Code.Unavailable;
      if (fault) log.error({ ...line, err: error.cause ?? error }, error.rawMessage);
      else log.info(line, error.rawMessage);
      throw error;
    }
  };
}

/** Which attempt of its caller this is, when it is not the first. */
function attemptOf(header: Headers): { attempt?: number } {
  const before = header.get('grpc-previous-rpc-attempts') ?? '';
  return /^[1-9]\d{0,3}$/.test(before) ? { attempt: Number(before) + 1 } : {};
}
