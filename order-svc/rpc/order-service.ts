import type { ServiceImpl } from '@connectrpc/connect';
import { IntentState, type OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { callLogOf } from '../../runtime/lifecycle/logger.ts';
import { FieldViolations } from '../../runtime/rpc/field-violations.ts';
import { findClaimByKey } from '../db/claims.ts';
import { findOrderByKey, findOrderByNo } from '../db/find-orders.ts';
import { readClientRequestId, readIntent } from '../domain/intent.ts';
import { orderError } from '../domain/reasons.ts';
import { createOrder } from '../saga/create-order.ts';
import type { Saga } from '../saga/saga.ts';
import { orderMessage } from './order-message.ts';
import { userIdOf } from './user-id.ts';

/** The RPCs of ordersystem.order.v1.OrderService. */
export function orderService(saga: Saga): ServiceImpl<typeof OrderService> {
  return {
    async createOrder(request, context) {
      const userId = userIdOf(context);
      const intent = readIntent(userId, request);
      const log = callLogOf(context);
      log.bind({ user_id: String(userId), client_request_id: intent.clientRequestId });
      const { signal, timeoutMs } = context;
      const { order, replayed } = await createOrder(saga, intent, { signal, timeoutMs, log });
      log.bind({ order_no: order.orderNo, replayed });
      return { order: orderMessage(order), replayed };
    },

    async getOrder(request, context) {
      const userId = userIdOf(context);
      const violations = new FieldViolations();
      violations.match('order_no', request.orderNo, /^[1-9]\d{0,18}$/, 'must be 1 to 19 decimal digits');
      violations.throwIfAny();
      callLogOf(context).bind({ user_id: String(userId), order_no: request.orderNo });
      const order = await findOrderByNo(saga.db, request.orderNo);
      // Another user's order is not there, as far as this one is told.
      if (order?.userId !== userId) throw orderError('ORDER_NOT_FOUND', 'there is no such order');
      return { order: orderMessage(order) };
    },

    async getOrderByClientRequestId(request, context) {
      const userId = userIdOf(context);
      const key = readClientRequestId(request.clientRequestId);
      callLogOf(context).bind({ user_id: String(userId), client_request_id: key });
      // In this order: an order takes its claim's place in one commit, so one of the two is seen.
      const claim = await findClaimByKey(saga.db, key);
      const order = await findOrderByKey(saga.db, key);
      if (order?.userId === userId) return { state: IntentState.CREATED, order: orderMessage(order) };
      if (claim?.userId === userId) return { state: IntentState.IN_PROGRESS };
      return { state: IntentState.NOT_FOUND };
    },
  };
}
