import { toBinary, toJsonString } from '@bufbuild/protobuf';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { OrderEventSchema } from '../../gen/ordersystem/order/v1/order_event_pb.ts';
import type { LeasedEvent } from '../db/events.ts';
import { geneOf } from '../domain/order-no.ts';
import { orderEvent } from './order-event.ts';

/** How `ordersystem.order.v1.OrderEvent` is written. */
export type EventFormat = 'json' | 'protobuf';

/** One message to NATS. */
export interface EventMessage {
  readonly subject: string;
  readonly headers: MsgHdrs;
  readonly data: Uint8Array | string;
}

/** All news of orders: `orders.events.TYPE.GENE`, the gene being user_id % 256. */
export const EVENT_SUBJECTS = 'orders.events.*.*';

/**
 * An event as a message: CloudEvents 1.0 in NATS's binary content mode. The values of its headers need no escaping: an event's
 * identity, an order's number and a type have nothing in them that would.
 *
 * @see https://github.com/cloudevents/spec/blob/main/cloudevents/bindings/nats-protocol-binding.md
 * @throws as `orderEvent`.
 */
export function eventMessage(event: LeasedEvent, format: EventFormat): EventMessage {
  const message = orderEvent(event);
  const attributes = headers();
  attributes.set('ce-specversion', '1.0');
  attributes.set('ce-id', event.eventId);
  attributes.set('ce-source', '/ordersystem/order-svc');
  attributes.set('ce-type', `ordersystem.order.v1.${event.eventType}`);
  attributes.set('ce-subject', event.orderNo);
  attributes.set('ce-time', event.createTime.toISOString());
  attributes.set('ce-datacontenttype', `application/${format}`);
  return {
    subject: `orders.events.${event.eventType}.${geneOf(message.userId)}`,
    headers: attributes,
    data: format === 'json' ? toJsonString(OrderEventSchema, message) : toBinary(OrderEventSchema, message),
  };
}
