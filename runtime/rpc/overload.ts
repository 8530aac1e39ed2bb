import type { DescMethod } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel as Idempotency } from '@bufbuild/protobuf/wkt';
import type { ConnectError, Interceptor } from '@connectrpc/connect';
import type { Logger } from '../lifecycle/logger.ts';
import { commonError } from './errors.ts';
import { prepareStatus } from './status.ts';

/** The last part of a door's places is for reads alone: a call that may change something is refused when so much is taken. */
const SHARE_OF_WRITES = 3 / 4;
const LOG_INTERVAL_MS = 1000;

/** A bound on what is in work at the same time, waiting included. What comes beyond it is refused at once, and counted in the log. */
export class Bound {
  readonly #name: string;
  readonly #limit: number;
  readonly #logger: Logger;
  #inWork = 0;
  #refused = 0;

  /** @param name what is bounded, for the log. */
  constructor(name: string, limit: number, logger: Logger) {
    this.#name = name;
    this.#limit = limit;
    this.#logger = logger;
  }

  /**
   * Takes a place. Returns what gives it back, to be called once.
   *
   * @param share the part of the places that is open to this one. Default: all.
   * @throws RESOURCE_EXHAUSTED `OVERLOADED`, with RetryInfo and `grpc-retry-pushback-ms`.
   */
  enter(share = 1): () => void {
    if (this.#inWork >= this.#limit * share) {
      this.#count();
      throw refusals[this.#refused % refusals.length]!;
    }
    this.#inWork++;
    return () => void this.#inWork--;
  }

  // A line for each would be one more thing to do, just when there is too much.
  #count(): void {
    if (this.#refused++ > 0) return;
    setTimeout(() => {
      this.#logger.warn({ bound: this.#name, limit: this.#limit, refused: this.#refused }, 'overloaded');
      this.#refused = 0;
    }, LOG_INTERVAL_MS).unref();
  }
}

/** What the doors of a process let in: one for all of them. */
export class Admission {
  readonly #calls: Bound;
  readonly #shares: ReadonlyMap<DescMethod, number>;

  /** @param shares of methods that are let in only while less is taken than other writes may take: the part of the places. */
  constructor(limit: number, logger: Logger, shares: ReadonlyMap<DescMethod, number> = new Map()) {
    this.#calls = new Bound('calls', limit, logger);
    this.#shares = shares;
  }

  /** Takes a place for a call. Returns and throws as that of `Bound`. */
  enter(method: DescMethod): () => void {
    if (method.idempotency === Idempotency.NO_SIDE_EFFECTS) return this.#calls.enter();
    return this.#calls.enter(Math.min(SHARE_OF_WRITES, this.#shares.get(method) ?? 1));
  }
}

/** Server interceptor: lets in what there is room for, before anything else is done for a call. Put it in front of all others. */
export function admissionInterceptor(admission: Admission): Interceptor {
  return (next) => async (request) => {
    const leave = admission.enter(request.method);
    try {
      return await next(request);
    } finally {
      leave();
    }
  };
}

/** Whether this is what a bound refuses with. */
export function isRefusal(error: unknown): boolean {
  return refusals.includes(error as ConnectError);
}

// Made once: an error and its details cost more than all else that a refusal takes. Several: those that are refused together must not
// all come back together.
const refusals = Array.from({ length: 16 }, (_, i) => {
  const retryDelayMs = 500 + i * 64;
  const error = commonError('OVERLOADED', 'there is too much to do now', { retryDelayMs });
  error.metadata.set('grpc-retry-pushback-ms', String(retryDelayMs));
  return prepareStatus(error);
});
