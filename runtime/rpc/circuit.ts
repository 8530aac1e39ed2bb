import { Code, ConnectError, type Interceptor, type UnaryResponse } from '@connectrpc/connect';
import { circuitBreaker, CircuitState, handleWhenResult, type IBreaker, isBrokenCircuitError } from 'cockatiel';
import type { Logger } from '../lifecycle/logger.ts';
import { timeoutOf } from './deadline.ts';
import { commonError } from './errors.ts';
import { NotSentError } from './not-sent.ts';

/** How a circuit behaves. Times in milliseconds. */
export interface CircuitOptions {
  /** What the server is called in errors and in the log. */
  name: string;
  logger: Logger;
  /** The longest that an attempt may take. One that was given less and got no answer does not count: its caller was in a hurry. */
  attemptTimeoutMs: number;
  /** Attempts in a row without an answer that open the circuit. Default 5. */
  failures?: number;
  /** Time from the first of them to the last, at least: calls on one broken connection all fail at once. Default 200. */
  silenceMs?: number;
  /** How long it is open before one attempt is let through, as a probe. Default 500. */
  probeAfterMs?: number;
}

interface Outcome {
  readonly response?: UnaryResponse;
  readonly error?: ConnectError;
  /** Nobody answered. */
  readonly silent?: true;
}

/**
 * Client interceptor: sends nothing to a server that is gone. When nobody has answered for a while, every further attempt is refused
 * at once, with UNAVAILABLE `SERVICE_UNAVAILABLE` and RetryInfo, and `wasNotSent` says so; from time to time one goes through
 * as a probe, and its answer closes the circuit. An error is an answer too, unless it is UNAVAILABLE, DEADLINE_EXCEEDED or CANCELLED.
 *
 * One for each target, behind the retry interceptor: it counts attempts, so that it opens within a few calls and ends the repeats of
 * those in work.
 *
 * @see https://learn.microsoft.com/en-us/azure/architecture/patterns/circuit-breaker
 */
export function circuitInterceptor(options: CircuitOptions): Interceptor {
  const { name, logger, attemptTimeoutMs, failures = 5, silenceMs = 200, probeAfterMs = 500 } = options;
  const circuit = circuitBreaker(
    handleWhenResult((outcome) => (outcome as Outcome).silent === true),
    { breaker: new SilenceBreaker(failures, silenceMs), halfOpenAfter: probeAfterMs },
  );
  logChanges(circuit, name, logger);
  const refused = () =>
    commonError('SERVICE_UNAVAILABLE', `${name} is not available`, { cause: new NotSentError('the circuit is open') });

  return (next) => async (request) => {
    if (request.stream) return next(request);
    // The library would let all others wait for what becomes of the probe.
    if (circuit.state === CircuitState.HalfOpen) throw refused();
    const isProbe = circuit.state === CircuitState.Open;
    const attempt = async (): Promise<Outcome> => {
      try {
        return { response: (await next(request)) as UnaryResponse };
      } catch (reason) {
        const error = ConnectError.from(reason);
        if (!SILENCE.has(error.code)) return { error };
        const hadItsTime = error.code !== Code.Canceled && (timeoutOf(request.header) ?? Infinity) >= attemptTimeoutMs;
        if (error.code === Code.Unavailable || hadItsTime || isProbe) return { error, silent: true };
        // Says nothing of the server.
        throw error;
      }
    };
    const { response, error } = await circuit.execute(attempt).catch((reason: unknown) => {
      throw isBrokenCircuitError(reason) ? refused() : reason;
    });
    if (response) return response;
    throw error as ConnectError;
  };
}

/** Says when the circuit opens. */
class SilenceBreaker implements IBreaker {
  state: unknown;
  readonly #failures: number;
  readonly #silenceMs: number;
  #failed = 0;
  #sinceMs = 0;

  constructor(failures: number, silenceMs: number) {
    this.#failures = failures;
    this.#silenceMs = silenceMs;
  }

  success(): void {
    this.#failed = 0;
  }

  failure(): boolean {
    if (this.#failed++ === 0) this.#sinceMs = Date.now();
    return this.#failed >= this.#failures && Date.now() - this.#sinceMs >= this.#silenceMs;
  }
}

const SILENCE: ReadonlySet<Code> = new Set([Code.Unavailable, Code.DeadlineExceeded, Code.Canceled]);

function logChanges(circuit: ReturnType<typeof circuitBreaker>, name: string, logger: Logger): void {
  let openedAtMs: number | undefined;
  // Also when a probe has failed; but that is no news.
  circuit.onBreak((reason) => {
    if (openedAtMs !== undefined) return;
    openedAtMs = performance.now();
    const err = 'value' in reason ? (reason.value as Outcome).error : undefined;
    logger.warn({ circuit: name, err }, 'circuit opened');
  });
  circuit.onReset(() => {
    const openMs = Math.round(performance.now() - (openedAtMs ?? NaN));
    openedAtMs = undefined;
    logger.info({ circuit: name, open_ms: openMs }, 'circuit closed');
  });
}
