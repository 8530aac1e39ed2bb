import type { Interceptor, UnaryRequest, UnaryResponse } from '@connectrpc/connect';

/** One unary call, on either side of the wire. */
export type UnaryCall = (request: UnaryRequest) => Promise<UnaryResponse>;

/** Wraps a unary call in interceptors, the first one outermost. */
export function chain(interceptors: readonly Interceptor[], call: UnaryCall): UnaryCall {
  return interceptors.reduceRight<UnaryCall>((next, intercept) => intercept(next as never) as UnaryCall, call);
}
