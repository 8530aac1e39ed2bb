import { createClient, type Client, type UnaryRequest } from '@connectrpc/connect';
import { type CreateOrderRequest, OrderService } from '../gen/ordersystem/order/v1/order_service_pb.ts';
import { StockService } from '../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { deadlineInterceptor } from '../runtime/rpc/deadline.ts';
import { retryInterceptor } from '../runtime/rpc/retry.ts';
import { createGrpcTransport } from '../runtime/rpc/transport.ts';

/** A typed client, and how to let go of its connections. */
export interface Connected<C> {
  /** One method for each RPC. Errors are ConnectError, with the details of the contract. */
  readonly client: C;
  /** Takes no new call; closes the connections when those in work have ended. */
  readonly close: () => void;
}

/** Milliseconds for a call without `timeoutMs`. */
const DEFAULT_TIMEOUT_MS = 5_000;

/**
 * A client of order-svc. Each call needs the header `x-user-id`. Calls have a deadline of 5 s unless `timeoutMs` says otherwise, and
 * are repeated on UNAVAILABLE within it, with back-off, when that is harmless: all but a CreateOrder without a client_request_id.
 *
 * @param target a grpc-js target: `127.0.0.1:50051`, or `dns:///order-svc:50051`.
 */
export function connectOrderService(target: string): Connected<Client<typeof OrderService>> {
  const transport = createGrpcTransport({
    target,
    interceptors: [deadlineInterceptor(DEFAULT_TIMEOUT_MS), retryInterceptor({ mayRepeat: hasKey })],
  });
  return { client: createClient(OrderService, transport), close: () => transport.close() };
}

/** A client of stock-svc. All of its calls are idempotent, and repeated on UNAVAILABLE within their deadline (5 s by default). */
export function connectStockService(target: string): Connected<Client<typeof StockService>> {
  const transport = createGrpcTransport({
    target,
    interceptors: [deadlineInterceptor(DEFAULT_TIMEOUT_MS), retryInterceptor()],
  });
  return { client: createClient(StockService, transport), close: () => transport.close() };
}

function hasKey({ method, message }: UnaryRequest): boolean {
  return method === OrderService.method.createOrder && Boolean((message as CreateOrderRequest).clientRequestId);
}
