import { create, type DescMethodUnary } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  createContextValues,
  type Interceptor,
  type UnaryRequest,
  type UnaryResponse,
} from '@connectrpc/connect';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { chain } from '../../../runtime/rpc/interceptors.ts';
import { retryInterceptor, type RetryOptions } from '../../../runtime/rpc/retry.ts';

/** What an attempt ends with: an error, or undefined for an answer. */
export type Outcome = ConnectError | undefined;

export const answer = {} as UnaryResponse;

export function unavailable(pushback?: string): ConnectError {
  return new ConnectError(
    'away',
    Code.Unavailable,
    pushback === undefined ? {} : { 'grpc-retry-pushback-ms': pushback },
  );
}

export interface Call extends Partial<Pick<UnaryRequest, 'signal' | 'contextValues' | 'stream'>> {
  method?: DescMethodUnary;
  message?: Record<string, unknown>;
  timeoutMs?: number;
}

/**
 * Calls through one retry interceptor. `attempt` is told each attempt's headers and number, from 0, and says how it ends.
 */
export function caller(options: RetryOptions, attempt: Attempt) {
  return callerThrough(retryInterceptor(options), attempt);
}

type Attempt = (header: Headers, number: number) => Outcome | Promise<Outcome>;

/** The same through any interceptor. */
export function callerThrough(interceptor: Interceptor, attempt: Attempt) {
  return (call: Call = {}): Promise<UnaryResponse> => {
    const { method = StockService.method.getStock, timeoutMs } = call;
    let number = 0;
    const next = async (request: UnaryRequest) => {
      const error = await attempt(request.header, number++);
      if (error) throw error;
      return answer;
    };
    return chain(
      [interceptor],
      next,
    )({
      stream: false,
      service: method.parent,
      method,
      requestMethod: 'POST',
      url: '',
      header: new Headers(timeoutMs === undefined ? {} : { 'grpc-timeout': `${timeoutMs}m` }),
      signal: new AbortController().signal,
      contextValues: createContextValues(),
      ...call,
      message: create(method.input, call.message ?? {}),
    });
  };
}
