import type { DescMethodUnary } from '@bufbuild/protobuf';
import type { ConnectError } from '@connectrpc/connect';
import { timeoutOf } from '../deadline.ts';
import { commonError } from '../errors.ts';
import { contentTypes, formOf, verbsOf } from './form.ts';
import type { HttpRequest } from './http-server.ts';

/** Why a request is refused before its message is read. */
export interface Refusal {
  readonly error: ConnectError;
  /** HTTP status. Default: the one of the error's code. */
  readonly status?: number;
  readonly header?: Record<string, string>;
}

/** What is wrong with how a request asks for a method. Undefined: nothing. */
export function refusalOf(request: HttpRequest, header: Headers, method: DescMethodUnary): Refusal | undefined {
  const verbs = verbsOf(method);
  if (!verbs.includes(request.method ?? '')) {
    const error = commonError('INVALID_REQUEST', `${method.name} is called by ${verbs.join(' or ')}`);
    return { error, status: 405, header: { allow: verbs.join(', ') } };
  }
  if (!formOf(request)) {
    if (request.method === 'GET') return { error: wrongField('encoding', 'must be json or proto') };
    const types = contentTypes.join(', ');
    return {
      error: wrongField('content-type', `must be one of ${types}`),
      status: 415,
      header: { 'accept-post': types },
    };
  }
  if (Number.isNaN(connectTimeout(header)))
    return { error: wrongField('connect-timeout-ms', 'must be 1 to 10 digits') };
  if (header.has('grpc-timeout') && timeoutOf(header) === undefined) {
    return { error: wrongField('grpc-timeout', 'must be 1 to 8 digits and one of H M S m u n') };
  }
  return undefined;
}

/** Milliseconds that a request's caller gives it, by the header of either protocol; by the shorter one when it has both. */
export function askedMs(header: Headers): number | undefined {
  const ms = Math.min(connectTimeout(header) ?? Infinity, timeoutOf(header) ?? Infinity);
  return ms === Infinity ? undefined : ms;
}

/** An INVALID_REQUEST about what stands around a message. */
export function wrongField(field: string, description: string, cause?: unknown): ConnectError {
  return commonError('INVALID_REQUEST', `${field}: ${description}`, {
    fieldViolations: [{ field, description }],
    cause,
  });
}

// https://connectrpc.com/docs/protocol/#unary-request
function connectTimeout(header: Headers): number | undefined {
  const text = header.get('connect-timeout-ms');
  if (text === null) return undefined;
  return /^\d{1,10}$/.test(text) ? Number(text) : NaN;
}
