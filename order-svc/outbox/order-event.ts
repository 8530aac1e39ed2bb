import { fromJson, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { type OrderEvent, OrderEventSchema, OrderEventType } from '../../gen/ordersystem/order/v1/order_event_pb.ts';
import type { LeasedEvent } from '../db/events.ts';

/**
 * The event as the contract shows it. A payload is JSON with the contract's own names, apart from what is told of a payment or a
 * cancellation; what it has beyond that is passed over, so that events may be written by a newer version than reads them.
 *
 * @throws when it is no event of an order, or a value in it cannot be right.
 */
export function orderEvent({ eventId, eventType, orderNo, createTime, payload }: LeasedEvent): OrderEvent {
  if (!Object.hasOwn(OrderEventType, eventType) || eventType === 'UNSPECIFIED') {
    throw new Error(`there is no event type ${eventType}`);
  }
  const { payment_no, amount_cents, reason, cancelled_by, ...order } = payload as JsonObject;
  const json = present({
    ...order,
    event_id: eventId,
    type: `ORDER_EVENT_TYPE_${eventType}`,
    create_time: createTime.toISOString(),
    order_no: orderNo,
    payment: payment_no === undefined ? undefined : present({ payment_no, amount_cents }),
    cancellation:
      cancelled_by === undefined
        ? undefined
        : present({ reason, cancelled_by: `CANCELLED_BY_${cancelled_by as string}` }),
  });
  const event = fromJson(OrderEventSchema, json, { ignoreUnknownFields: true });
  if (event.userId <= 0n) throw new Error('the event has no user_id');
  return event;
}

/** A payload that has not been through the table may have fields that are undefined; JSON has none. */
function present(fields: Record<string, JsonValue | undefined>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as JsonObject;
}
