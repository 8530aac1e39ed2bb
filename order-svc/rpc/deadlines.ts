import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { deadlinesOf } from '../../runtime/rpc/deadline.ts';

/**
 * As the contract says. The cap of CreateOrder also bounds how long a crash keeps a key waiting: a claim stands for what is left of
 * its call's deadline, and a margin.
 */
export const orderDeadlines = deadlinesOf(OrderService, {
  createOrder: { defaultMs: 5_000, maxMs: 30_000 },
  getOrder: { defaultMs: 2_000, maxMs: 10_000 },
  getOrderByClientRequestId: { defaultMs: 2_000, maxMs: 10_000 },
  listOrders: { defaultMs: 2_000, maxMs: 10_000 },
  payOrder: { defaultMs: 5_000, maxMs: 30_000 },
  cancelOrder: { defaultMs: 5_000, maxMs: 30_000 },
});
