import {
  type CallOptions,
  type Client,
  Code,
  ConnectError,
  type HandlerContext,
  type ServiceImpl,
} from '@connectrpc/connect';
import type { OrderService } from 'ordersystem-cloud/contract';
import type { Sessions } from './session.ts';

/** The OrderService that pages see: the real one, asked in the name of the user whose cookie came with the request. */
export function forwardOrders(
  orders: Client<typeof OrderService>,
  sessions: Sessions,
): Partial<ServiceImpl<typeof OrderService>> {
  const asUser = ({ requestHeader, signal, timeoutMs }: HandlerContext): CallOptions => {
    const user = sessions.userOf(requestHeader.get('cookie'));
    if (user === undefined) throw new ConnectError('nobody is signed in', Code.Unauthenticated);
    return { headers: { 'x-user-id': user }, signal, timeoutMs: timeoutMs() };
  };
  return {
    createOrder: async (request, context) => orders.createOrder(request, asUser(context)).catch(forPages),
    getOrder: async (request, context) => orders.getOrder(request, asUser(context)).catch(forPages),
    getOrderByClientRequestId: async (request, context) =>
      orders.getOrderByClientRequestId(request, asUser(context)).catch(forPages),
  };
}

/** The service's own errors are written for callers. Others name what is behind the gateway. */
function forPages(reason: unknown): never {
  const error = ConnectError.from(reason);
  if (error.details.length > 0) throw error;
  throw new ConnectError('the shop cannot reach its orders', error.code, undefined, undefined, error);
}
