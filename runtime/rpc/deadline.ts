import type { DescMethod, DescService } from '@bufbuild/protobuf';
import type { HandlerContext, Interceptor } from '@connectrpc/connect';

/** How long calls of a method may take, in milliseconds. */
export interface Deadline {
  /** Of a call whose caller set none. */
  readonly defaultMs: number;
  /** The most that a caller gets, whatever he asks for. */
  readonly maxMs: number;
}

/** One for all methods, or that of each, as `deadlinesOf` says. */
export type Deadlines = Deadline | ((method: DescMethod) => Deadline);

export function deadlineOf(deadlines: Deadlines, method: DescMethod): Deadline {
  return typeof deadlines === 'function' ? deadlines(method) : deadlines;
}

/** Of services that have no table of their own: health, reflection. */
const OTHERS: Deadline = { defaultMs: 2_000, maxMs: 10_000 };

/** The deadline of each method of a service, by the method's name in TypeScript. */
export function deadlinesOf<S extends DescService>(
  service: S,
  table: Readonly<Record<keyof S['method'] & string, Deadline>>,
): (method: DescMethod) => Deadline {
  const byName: Readonly<Record<string, Deadline>> = table;
  return (method) => (method.parent === service ? byName[method.localName]! : OTHERS);
}

// https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md: at most 8 digits and a unit.
const HEADER = 'grpc-timeout';
const UNIT_MS: Record<string, number> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** Milliseconds that a request's `grpc-timeout` gives it; undefined when it has none or one that cannot be read. */
export function timeoutOf(header: Headers): number | undefined {
  return parseTimeout(header.get(HEADER) ?? '');
}

function parseTimeout(text: string): number | undefined {
  const match = /^(\d{1,8})([HMSmun])$/.exec(text);
  return match ? Number(match[1]) * UNIT_MS[match[2]!]! : undefined;
}

/**
 * grpc-js counts a deadline in 32 bits: one of 25 days or more, as callers send who want none, would come out as long past. Without it
 * there is none but the method's own.
 */
export function dropLongTimeout(headers: Record<string, string | string[] | undefined>): void {
  const text = headers[HEADER];
  const timeoutMs = typeof text === 'string' ? parseTimeout(text) : undefined;
  if (timeoutMs !== undefined && timeoutMs >= 2 ** 31) delete headers[HEADER];
}

/** Gives a request so many milliseconds from now, rounded up to 1 ms. 0 or less is a deadline that is already over. */
export function setTimeoutOf(header: Headers, timeoutMs: number): void {
  header.set(HEADER, `${Math.min(Math.max(Math.ceil(timeoutMs), 0), 99_999_999)}m`);
}

/**
 * Client interceptor: no call without a deadline.
 *
 * @param defaultMs milliseconds for a call whose caller gave no `timeoutMs`.
 */
export function deadlineInterceptor(defaultMs: number): Interceptor {
  return (next) => (request) => {
    if (timeoutOf(request.header) === undefined) setTimeoutOf(request.header, defaultMs);
    return next(request);
  };
}

/** Milliseconds left of the call that is being served; Infinity when it has no deadline. */
export function remainingMs(context: Pick<HandlerContext, 'timeoutMs'>): number {
  return context.timeoutMs() ?? Infinity;
}
