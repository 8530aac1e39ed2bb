import type { PayOrderRequest } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { FieldViolations } from '../../runtime/rpc/field-violations.ts';
import { MAX_CENTS } from './intent.ts';
import { ORDER_NO_PATTERN, ORDER_NO_RULE } from './order-no.ts';
import type { Order } from './order.ts';
import { orderError } from './reasons.ts';

/** A payment that has been made for an order, checked. */
export interface Payment {
  readonly userId: bigint;
  readonly orderNo: string;
  /** The key of the payment: what it has settled stays so. */
  readonly paymentNo: string;
  readonly amountCents: bigint;
}

/** Checks a request before anything is touched. */
export function readPayment(userId: bigint, request: PayOrderRequest): Payment {
  const { orderNo, paymentNo, amountCents } = request;
  const violations = new FieldViolations();
  violations.match('order_no', orderNo, ORDER_NO_PATTERN, ORDER_NO_RULE);
  violations.match('payment_no', paymentNo, /^[A-Za-z0-9._:-]{1,48}$/, 'must be 1 to 48 of A-Z a-z 0-9 . _ : -');
  violations.range('amount_cents', amountCents, 0n, MAX_CENTS);
  violations.throwIfAny();
  return { userId, orderNo, paymentNo, amountCents };
}

/** Refuses a payment of another amount than the order's. */
export function checkAmount({ totalAmountCents }: Order, { amountCents }: Payment): void {
  if (amountCents === totalAmountCents) return;
  throw orderError('AMOUNT_MISMATCH', `the order is for ${totalAmountCents} cents, paid were ${amountCents}`, {
    metadata: { amount_cents: String(amountCents), total_amount_cents: String(totalAmountCents) },
  });
}

/** Refuses a payment_no that stands for something else: another order, or another amount. */
export function checkSamePayment(bound: Pick<Payment, 'orderNo' | 'amountCents'>, payment: Payment): void {
  if (bound.orderNo === payment.orderNo && bound.amountCents === payment.amountCents) return;
  throw orderError('PAYMENT_NO_REUSED', 'payment_no belongs to another payment', {
    fieldViolations: [{ field: 'payment_no', description: 'belongs to another payment' }],
  });
}

/** Why an order that is paid or cancelled takes no other payment. */
export function refusalOf({ status }: Order): 'ORDER_ALREADY_PAID' | 'ORDER_NOT_PAYABLE' {
  return status === 'PAID' ? 'ORDER_ALREADY_PAID' : 'ORDER_NOT_PAYABLE';
}
