import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { CancelledBy, type OrderSchema, OrderStatus } from '../../gen/ordersystem/order/v1/order_pb.ts';
import type { Order } from '../domain/order.ts';

/** An order as the contract shows it. */
export function orderMessage(order: Order): MessageInitShape<typeof OrderSchema> {
  return {
    orderNo: order.orderNo,
    clientRequestId: order.clientRequestId,
    status: OrderStatus[order.status],
    items: order.items.map((item) => ({ ...item })),
    totalAmountCents: order.totalAmountCents,
    createTime: timestampFromDate(order.createTime),
    ...(order.paid && { payTime: timestampFromDate(order.paid.time), paymentNo: order.paid.paymentNo }),
    ...(order.cancelled && {
      cancelTime: timestampFromDate(order.cancelled.time),
      cancelledBy: CancelledBy[order.cancelled.by],
      cancelReason: order.cancelled.reason,
    }),
  };
}
