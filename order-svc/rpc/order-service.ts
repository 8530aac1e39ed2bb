import type { ServiceImpl } from '@connectrpc/connect';
import { IntentState, type OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { callLogOf } from '../../runtime/lifecycle/logger.ts';
import { FieldViolations } from '../../runtime/rpc/field-violations.ts';
import { findClaimByKey } from '../db/claims.ts';
import { findOrderByKey } from '../db/find-orders.ts';
import { readCancellation } from '../domain/cancellation.ts';
import { readClientRequestId, readIntent } from '../domain/intent.ts';
import { ORDER_NO_PATTERN, ORDER_NO_RULE } from '../domain/order-no.ts';
import { readPageQuery } from '../domain/order-page.ts';
import { readPayment } from '../domain/payment.ts';
import { cancelOrder } from '../life/cancel-order.ts';
import { pageOfOrders } from '../life/list-orders.ts';
import { ofUser } from '../life/own-order.ts';
import { payOrder } from '../life/pay-order.ts';
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
      violations.match('order_no', request.orderNo, ORDER_NO_PATTERN, ORDER_NO_RULE);
      violations.throwIfAny();
      callLogOf(context).bind({ user_id: String(userId), order_no: request.orderNo });
      const found = await saga.batches.findByNo.submit(request.orderNo, context.signal);
      return { order: orderMessage(ofUser(userId, found)) };
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

    async listOrders(request, context) {
      const userId = userIdOf(context);
      callLogOf(context).bind({ user_id: String(userId) });
      const { orders, nextPageToken } = await pageOfOrders(saga.db, readPageQuery(userId, request));
      return { orders: orders.map(orderMessage), nextPageToken };
    },

    async payOrder(request, context) {
      const payment = readPayment(userIdOf(context), request);
      const { userId, orderNo, paymentNo } = payment;
      const log = callLogOf(context);
      log.bind({ user_id: String(userId), order_no: orderNo, payment_no: paymentNo });
      // A refused payment is news, too.
      const { order, replayed } = await payOrder(saga.db, payment, context.signal).finally(saga.wakeRelay);
      log.bind({ replayed });
      return { order: orderMessage(order), replayed };
    },

    async cancelOrder(request, context) {
      const cancellation = readCancellation(userIdOf(context), request);
      const log = callLogOf(context);
      log.bind({ user_id: String(cancellation.userId), order_no: cancellation.orderNo });
      const { order, replayed } = await cancelOrder(saga.db, cancellation).finally(saga.wakeRelay);
      log.bind({ replayed });
      return { order: orderMessage(order), replayed };
    },
  };
}
