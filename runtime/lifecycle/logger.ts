import { createContextKey, type HandlerContext } from '@connectrpc/connect';
import { type Logger, pino } from 'pino';

export type { Logger };

/** JSON lines on standard output. `level`: fatal, error, warn, info, debug, trace or silent. */
export function createLogger(service: string, level: string): Logger {
  return pino({ level, base: { service }, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'message' });
}

/** A logger that says nothing. */
export const silentLogger: Logger = pino({ level: 'silent' });

/** The logger of the call that is being served; its bindings stand on every line of the call. */
export const loggerKey = createContextKey<Logger>(silentLogger, { description: 'logger of this call' });

/** Puts values on every further line that is logged of this call. Returns its logger. */
export function bindLog(context: Pick<HandlerContext, 'values'>, bindings: Record<string, unknown>): Logger {
  const log = context.values.get(loggerKey).child(bindings);
  context.values.set(loggerKey, log);
  return log;
}
