import type { Finding } from '../audit/findings.ts';

/** A finding for programs: all names are always there. */
export function findingJson({ rule, orderNo, productId, clientRequestId, eventId, message, repair }: Finding) {
  return {
    rule,
    order_no: orderNo ?? null,
    product_id: productId ?? null,
    client_request_id: clientRequestId ?? null,
    event_id: eventId ?? null,
    message,
    repair: repair ?? null,
  };
}
