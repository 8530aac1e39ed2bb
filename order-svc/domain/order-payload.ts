import type { NewOrder } from './order.ts';

/** What every event of an order says of it. Whole numbers are text: those of JSON do not hold 64 bits. */
export function orderPayload(order: NewOrder) {
  return {
    order_no: order.orderNo,
    user_id: String(order.userId),
    client_request_id: order.clientRequestId,
    total_amount_cents: String(order.totalAmountCents),
    items: order.items.map((item) => ({
      product_id: String(item.productId),
      quantity: String(item.quantity),
      title: item.title,
      unit_price_cents: String(item.unitPriceCents),
    })),
  };
}
