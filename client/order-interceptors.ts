import type { Interceptor, UnaryRequest } from '@connectrpc/connect';
import { type CreateOrderRequest, OrderService } from '../gen/ordersystem/order/v1/order_service_pb.ts';
import { deadlineInterceptor } from '../runtime/rpc/deadline.ts';
import { retryInterceptor } from '../runtime/rpc/retry.ts';

/** Milliseconds for a call without `timeoutMs`. */
export const DEFAULT_TIMEOUT_MS = 5_000;

/** What every client of order-svc does with a call, whatever carries it: a deadline, and repeats where a repeat is harmless. */
export function orderInterceptors(): Interceptor[] {
  return [deadlineInterceptor(DEFAULT_TIMEOUT_MS), retryInterceptor({ mayRepeat: hasKey })];
}

function hasKey({ method, message }: UnaryRequest): boolean {
  return method === OrderService.method.createOrder && Boolean((message as CreateOrderRequest).clientRequestId);
}
