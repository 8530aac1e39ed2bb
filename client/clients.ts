import { createClient, type Client, type Interceptor } from '@connectrpc/connect';
import type { ChannelCredentials } from '@grpc/grpc-js';
import { OrderService } from '../gen/ordersystem/order/v1/order_service_pb.ts';
import { StockService } from '../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { deadlineInterceptor } from '../runtime/rpc/deadline.ts';
import { bearerInterceptor } from '../runtime/rpc/identity/bearer.ts';
import { retryInterceptor } from '../runtime/rpc/retry.ts';
import { createGrpcTransport } from '../runtime/rpc/transport.ts';
import { DEFAULT_TIMEOUT_MS, orderInterceptors } from './order-interceptors.ts';

/** A typed client, and how to let go of its connections. */
export interface Connected<C> {
  /** One method for each RPC. Errors are ConnectError, with the details of the contract. */
  readonly client: C;
  /** Takes no new call; closes the connections when those in work have ended. */
  readonly close: () => void;
}

/** How a client shows who it is, and knows whom it talks to. */
export interface ConnectOptions {
  /**
   * TLS: `credentials.createSsl(ca)` of @grpc/grpc-js; mutual TLS: `credentials.createSsl(ca, key, certificate)`. Default: plain
   * text, for services on the same machine.
   */
  credentials?: ChannelCredentials;
  /** Asked for a bearer token (JWT) at each attempt of each call. Only with TLS, or on the same machine. Default: none. */
  token?: () => string | Promise<string>;
}

/**
 * A client of order-svc. Its user is a token's `sub`; a trusted gateway, or a caller on the same machine, names him in the header
 * `x-user-id` of each call instead. Calls have a deadline of 5 s unless `timeoutMs` says otherwise, and are repeated on UNAVAILABLE
 * within it, with back-off, when that is harmless: all but a CreateOrder without a client_request_id.
 *
 * @param target a grpc-js target: `127.0.0.1:50051`, or `dns:///order-svc:50051`.
 */
export function connectOrderService(
  target: string,
  options: ConnectOptions = {},
): Connected<Client<typeof OrderService>> {
  const transport = connect(target, orderInterceptors(), options);
  return { client: createClient(OrderService, transport), close: () => transport.close() };
}

/** A client of stock-svc. All of its calls are idempotent, and repeated on UNAVAILABLE within their deadline (5 s by default). */
export function connectStockService(
  target: string,
  options: ConnectOptions = {},
): Connected<Client<typeof StockService>> {
  const transport = connect(target, [deadlineInterceptor(DEFAULT_TIMEOUT_MS), retryInterceptor()], options);
  return { client: createClient(StockService, transport), close: () => transport.close() };
}

function connect(target: string, interceptors: Interceptor[], { credentials, token }: ConnectOptions) {
  const show = token ? [bearerInterceptor(token)] : [];
  return createGrpcTransport({ target, credentials, interceptors: [...interceptors, ...show] });
}
