import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema, RetryInfoSchema } from '../gen/google/rpc/error_details_pb.ts';
import { errorInfoOf, type RetryAdvice } from '../runtime/rpc/errors.ts';

/** Codes of errors that came from something before order-svc, and that no repeat of the same request changes. */
const NEVER: readonly Code[] = [
  Code.InvalidArgument,
  Code.NotFound,
  Code.FailedPrecondition,
  Code.Unimplemented,
  Code.Unauthenticated,
  Code.PermissionDenied,
];

/** Why an intent has not become an order, and what to do about it. `cause` is the ConnectError that the service answered with. */
export class PurchaseError extends Error {
  override readonly name = 'PurchaseError';

  /**
   * True: there is no order, and this intent cannot become one. Forget the intent, tell the user why, and make a new one when the
   * user decides to buy again.
   *
   * False: there may be an order. Keep the intent, and submit it again: that gives the order, or makes it. A new intent could make a
   * second one.
   */
  readonly settled: boolean;

  /**
   * What a repeat can do, as the service says: `same_key`: submit the same intent again, later; `new_key`: this cart cannot be
   * bought as it is, a changed one is a new intent; `never`: the request itself is wrong, and is refused until that is put right.
   */
  readonly advice: RetryAdvice;

  /** The reason of the service's catalogue: `INSUFFICIENT_STOCK`. The code, `UNAVAILABLE`, when it was not the service that answered. */
  readonly reason: string;

  /** What the reason is about, all as text: `product_id`, `asked`, `available`, `unit_price_cents`. Empty when there is nothing to say. */
  readonly metadata: Readonly<Record<string, string>>;

  /** The wrong fields of a request that was `INVALID_REQUEST`: `items[0].quantity`. Else empty. */
  readonly fieldViolations: readonly { readonly field: string; readonly description: string }[];

  /** Milliseconds that the service wants a repeat to wait; 0 when it did not say. */
  readonly retryAfterMs: number;

  /** @param reason what a call of order-svc threw. */
  constructor(reason: unknown) {
    const cause = ConnectError.from(reason);
    const info = errorInfoOf(cause);
    const advice = adviceIn(info?.metadata['retry']) ?? (NEVER.includes(cause.code) ? 'never' : 'same_key');
    const settled = info !== undefined && (advice === 'new_key' || info.reason === 'INVALID_REQUEST');
    const name = info?.reason ?? nameOf(cause.code);
    super(`${cause.rawMessage} (${name}): ${whatToDo(advice, settled)}`, { cause });
    this.settled = settled;
    this.advice = advice;
    this.reason = name;
    this.metadata = info?.metadata ?? {};
    this.fieldViolations = cause.findDetails(BadRequestSchema).flatMap((detail) => detail.fieldViolations);
    const delay = cause.findDetails(RetryInfoSchema)[0]?.retryDelay;
    this.retryAfterMs = delay ? Number(delay.seconds) * 1000 + delay.nanos / 1e6 : 0;
  }
}

function adviceIn(text: string | undefined): RetryAdvice | undefined {
  return text === 'same_key' || text === 'new_key' || text === 'never' ? text : undefined;
}

/** As gRPC spells it. */
function nameOf(code: Code): string {
  return code === Code.Canceled ? 'CANCELLED' : Code[code].replace(/\B[A-Z]/g, '_$&').toUpperCase();
}

function whatToDo(advice: RetryAdvice, settled: boolean): string {
  if (advice === 'same_key') return 'it is not known whether there is an order; submit the same intent again';
  if (advice === 'new_key') return 'there is no order; another cart is another intent, so make a new one';
  return settled
    ? 'there is no order; the request itself is wrong'
    : 'there may be an order; put this right, and submit the same intent again';
}
