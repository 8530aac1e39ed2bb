import {
  type Client,
  Code,
  ConnectError,
  createClient,
  type UnaryRequest,
  type UnaryResponse,
} from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { OrderService } from '../gen/ordersystem/order/v1/order_service_pb.ts';
import { timeoutOf } from '../runtime/rpc/deadline.ts';
import { bearerInterceptor } from '../runtime/rpc/identity/bearer.ts';
import { unaryTransport } from '../runtime/rpc/unary-transport.ts';
import { orderInterceptors } from './order-interceptors.ts';

/** How a client in a browser shows who its user is. Cookies go along to the page's own server, as with every `fetch`. */
export interface WebOptions {
  /** Asked for a bearer token (JWT) at each attempt of each call. Default: none. */
  token?: () => string | Promise<string>;
}

/**
 * A client of order-svc for browsers, and for any other JavaScript that has `fetch`: the Connect protocol in JSON, over HTTP. One
 * method for each RPC; errors are ConnectError, with the details of the contract, and UNAVAILABLE when no answer came. Calls have a
 * deadline of 5 s unless `timeoutMs` says otherwise, and are repeated on UNAVAILABLE within it, with back-off, when that is harmless:
 * reads, and CreateOrder with a client_request_id.
 *
 * @param baseUrl where the HTTP door is, or the gateway before it: `https://shop.example`, or `/api` for a path of the page's own server.
 */
export function createOrderClient(baseUrl: string, options: WebOptions = {}): Client<typeof OrderService> {
  const connect = createConnectTransport({ baseUrl });
  const show = options.token ? [bearerInterceptor(options.token)] : [];

  async function callOnce(request: UnaryRequest): Promise<UnaryResponse> {
    const { method, signal, header, message, contextValues } = request;
    const timeoutMs = timeoutOf(header);
    // To Connect, 0 says: no deadline.
    if (timeoutMs === 0) throw new ConnectError('the deadline passed before it was sent', Code.DeadlineExceeded);
    // It writes `connect-timeout-ms` itself.
    const headers = new Headers(header);
    headers.delete('grpc-timeout');
    try {
      return await connect.unary(method, signal, timeoutMs, headers, message, contextValues);
    } catch (reason) {
      throw lostConnection(reason) ?? reason;
    }
  }

  return createClient(OrderService, unaryTransport([...orderInterceptors(), ...show], callOnce));
}

/** What `fetch` throws when nobody answers, or when the answer breaks off, says nothing about the request. */
function lostConnection(reason: unknown): ConnectError | undefined {
  const { cause } = ConnectError.from(reason);
  if (!(cause instanceof TypeError)) return undefined;
  return new ConnectError('the connection failed', Code.Unavailable, undefined, undefined, cause);
}
