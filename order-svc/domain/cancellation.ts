import type { CancelOrderRequest } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { FieldViolations } from '../../runtime/rpc/field-violations.ts';
import { ORDER_NO_PATTERN, ORDER_NO_RULE } from './order-no.ts';

/** What t_order.cancel_reason holds. */
const MAX_REASON_LENGTH = 256;

/** A user's wish to cancel an order, checked. */
export interface Cancellation {
  readonly userId: bigint;
  readonly orderNo: string;
  /** Undefined: nothing said. */
  readonly reason: string | undefined;
}

/** Checks a request before anything is touched. */
export function readCancellation(userId: bigint, { orderNo, reason }: CancelOrderRequest): Cancellation {
  const violations = new FieldViolations();
  violations.match('order_no', orderNo, ORDER_NO_PATTERN, ORDER_NO_RULE);
  const length = [...reason].length;
  if (length > MAX_REASON_LENGTH) {
    violations.add('reason', `must have at most ${MAX_REASON_LENGTH} characters, had ${length}`);
  }
  violations.throwIfAny();
  return { userId, orderNo, reason: reason || undefined };
}
