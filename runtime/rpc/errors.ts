import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';

/**
 * What a repeat of a failed call can do: `same_key`: the same request with the same key may succeed later; `new_key`: this
 * intent cannot succeed as it is, a changed one is a new intent; `never`: the request itself is wrong.
 */
export type RetryAdvice = 'same_key' | 'new_key' | 'never';

/** One entry of an error catalogue. */
export interface Reason {
  /** The gRPC code that the reason always has. */
  readonly code: Code;
  /** Sent as ErrorInfo.metadata.retry. */
  readonly retry: RetryAdvice;
  /** Milliseconds sent as RetryInfo.retry_delay. Default: no RetryInfo. */
  readonly retryDelayMs?: number;
}

/** Reasons by name: UPPER_SNAKE, the name is what ErrorInfo.reason says. */
export type Catalogue = Readonly<Record<string, Reason>>;

/** ErrorInfo.domain of every error of this system. */
export const ERROR_DOMAIN = 'ordersystem';

/** The reasons that every service has. A service's own catalogue starts with these. */
export const commonReasons = {
  INVALID_REQUEST: { code: Code.InvalidArgument, retry: 'never' },
  REQUEST_TOO_LARGE: { code: Code.ResourceExhausted, retry: 'never' },
  UNAUTHENTICATED: { code: Code.Unauthenticated, retry: 'never' },
  PERMISSION_DENIED: { code: Code.PermissionDenied, retry: 'never' },
  SERVICE_UNAVAILABLE: { code: Code.Unavailable, retry: 'same_key', retryDelayMs: 1000 },
  OVERLOADED: { code: Code.ResourceExhausted, retry: 'same_key', retryDelayMs: 1000 },
  DEADLINE_EXCEEDED: { code: Code.DeadlineExceeded, retry: 'same_key' },
  CANCELLED: { code: Code.Canceled, retry: 'same_key' },
  INTERNAL: { code: Code.Internal, retry: 'same_key' },
} as const satisfies Catalogue;

/** What an error may say beyond its reason and its message. */
export interface ErrorExtras {
  /** More of ErrorInfo.metadata; `retry` is set from the catalogue. */
  metadata?: Record<string, string>;
  /** google.rpc.BadRequest: one entry for each wrong field. */
  fieldViolations?: { field: string; description: string }[];
  /** In place of the reason's own. */
  retryDelayMs?: number;
  /** Kept for the log, never sent. */
  cause?: unknown;
}

/**
 * Makes the function with which a service throws the errors of its catalogue, and nothing else.
 *
 * The message is for people and is sent: it must hold nothing of another user's and nothing of the service's insides.
 */
export function errorsOf<C extends Catalogue>(catalogue: C) {
  return (name: keyof C & string, message: string, extras: ErrorExtras = {}): ConnectError => {
    const reason = catalogue[name]!;
    const details: ConnectError['details'] = [
      {
        desc: ErrorInfoSchema,
        value: { reason: name, domain: ERROR_DOMAIN, metadata: { ...extras.metadata, retry: reason.retry } },
      },
    ];
    if (extras.fieldViolations) {
      const value: MessageInitShape<typeof BadRequestSchema> = { fieldViolations: extras.fieldViolations };
      details.push({ desc: BadRequestSchema, value });
    }
    const retryDelayMs = extras.retryDelayMs ?? reason.retryDelayMs;
    if (retryDelayMs !== undefined) {
      const retryDelay = { seconds: BigInt(Math.floor(retryDelayMs / 1000)), nanos: (retryDelayMs % 1000) * 1_000_000 };
      details.push({ desc: RetryInfoSchema, value: { retryDelay } });
    }
    const error = new ConnectError(message, reason.code, undefined, undefined, extras.cause);
    error.details = details;
    return error;
  };
}

/** Throws errors of the reasons that every service has. */
export const commonError = errorsOf(commonReasons);

/** An error of this system that came in an answer, as part of what was asked for. */
export function receivedError(failure: {
  code: number;
  reason: string;
  message: string;
  metadata: Record<string, string>;
}): ConnectError {
  const { code, reason, message, metadata } = failure;
  const error = new ConnectError(message, code in Code ? code : Code.Unknown);
  error.details = [{ desc: ErrorInfoSchema, value: { reason, domain: ERROR_DOMAIN, metadata } }];
  error.isWireError = true;
  return error;
}

/** The ErrorInfo of this system in an error, made here or received. Undefined for any other error. */
export function errorInfoOf(error: unknown) {
  if (!(error instanceof ConnectError)) return undefined;
  return error.findDetails(ErrorInfoSchema).find((info) => info.domain === ERROR_DOMAIN);
}

/** The reason in an error of this system, made here or received. Undefined for any other error. */
export function reasonOf(error: unknown): string | undefined {
  return errorInfoOf(error)?.reason;
}

/** What a caller is told whose call was ended by its deadline or by himself. */
export function abortedError(signal: AbortSignal): ConnectError {
  const cancelled = signal.reason instanceof ConnectError && signal.reason.code === Code.Canceled;
  return cancelled
    ? commonError('CANCELLED', 'the call was cancelled')
    : commonError('DEADLINE_EXCEEDED', "the call's deadline passed");
}
