import { create } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  createContextValues,
  type Interceptor,
  type Transport,
  type UnaryRequest,
  type UnaryResponse,
} from '@connectrpc/connect';
import { setTimeoutOf } from './deadline.ts';
import { chain, type UnaryCall } from './interceptors.ts';

/**
 * A Connect Transport of unary methods only, whatever carries them: `callOnce` makes one attempt. The time that the attempt has is in
 * the request's `grpc-timeout`, for the interceptors to read and to change; `callOnce` sends it as its protocol wants.
 *
 * @param interceptors outermost first.
 */
export function unaryTransport(interceptors: readonly Interceptor[], callOnce: UnaryCall): Transport {
  const call = chain(interceptors, callOnce);
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const headers = new Headers(header as Headers | undefined);
      if (timeoutMs !== undefined) setTimeoutOf(headers, timeoutMs);
      const request: UnaryRequest<typeof method.input, typeof method.output> = {
        stream: false,
        service: method.parent,
        method,
        requestMethod: 'POST',
        url: `/${method.parent.typeName}/${method.name}`,
        header: headers,
        signal: signal ?? NEVER,
        contextValues: contextValues ?? createContextValues(),
        message: create(method.input, input),
      };
      return (await call(request)) as UnaryResponse<typeof method.input, typeof method.output>;
    },
    stream() {
      return Promise.reject(new ConnectError('streaming is not supported by this transport', Code.Unimplemented));
    },
  };
}

const NEVER = new AbortController().signal;
