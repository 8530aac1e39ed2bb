import { createContextKey, type HandlerContext } from '@connectrpc/connect';
import { type Logger, type LoggerOptions, pino } from 'pino';

export type { Logger };

/** Bytes of lines that wait for a reader who stands still; what comes after them is lost. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/**
 * JSON lines on standard output. `level`: fatal, error, warn, info, debug, trace or silent. Lines go out in the background, and before
 * `process.exit`: a slow reader holds nothing up, and only SIGKILL takes the last of them.
 */
export function createLogger(service: string, level: string): Logger {
  const options: LoggerOptions = {
    level,
    base: { service },
    timestamp: pino.stdTimeFunctions.isoTime,
    messageKey: 'message',
    serializers: { err: plainError },
  };
  // Written synchronously, a full pipe would stop the whole process for 100 ms at a time.
  return pino(options, pino.destination({ sync: false, maxLength: MAX_WAITING_BYTES }));
}

/** A logger that says nothing. */
export const silentLogger: Logger = pino({ level: 'silent' });

/** The log of one call: what is bound to it stands on every further line. */
export class CallLog {
  readonly #logger: Logger;
  readonly #bindings: Record<string, unknown>;

  constructor(logger: Logger, bindings: Record<string, unknown> = {}) {
    this.#logger = logger;
    this.#bindings = bindings;
  }

  /** Puts values on every further line; one that is there already is replaced. */
  bind(bindings: Record<string, unknown>): void {
    Object.assign(this.#bindings, bindings);
  }

  info(fields: object, message: string): void {
    this.#logger.info({ ...this.#bindings, ...fields }, message);
  }

  warn(fields: object, message: string): void {
    this.#logger.warn({ ...this.#bindings, ...fields }, message);
  }

  error(fields: object, message: string): void {
    this.#logger.error({ ...this.#bindings, ...fields }, message);
  }
}

const callLogKey = createContextKey(new CallLog(silentLogger), { description: 'log of this call' });

/** Gives a call its log. */
export function setCallLog(values: HandlerContext['values'], log: CallLog): void {
  values.set(callLogKey, log);
}

/** The log of the call that is being served; it says nothing when the call has none. */
export function callLogOf({ values }: Pick<HandlerContext, 'values'>): CallLog {
  return values.get(callLogKey);
}

// The statement of a database's error holds what users have sent. The details of a ConnectError are descriptors, without end.
const OMITTED = new Set(['sql', 'parameters', 'details']);

/** An error as the log has it. Never throws, whatever hangs on the error: who logs is in the middle of something else. */
export function plainError(error: Error): unknown {
  const plain = pino.stdSerializers.err(error);
  try {
    return JSON.parse(
      JSON.stringify(plain, (key, value: unknown) => {
        if (OMITTED.has(key)) return undefined;
        return typeof value === 'bigint' ? String(value) : value;
      }),
    );
  } catch {
    return { type: plain.type, message: plain.message, stack: plain.stack };
  }
}
