import { fromBinary, fromJsonString } from '@bufbuild/protobuf';
import type { JsMsg } from '@nats-io/jetstream';
import { type OrderEvent, OrderEventSchema } from '../../gen/ordersystem/order/v1/order_event_pb.ts';

/** An event as it came. What is in it has not been looked at. */
export interface ArrivedEvent {
  /** Its place in the stream. */
  readonly seq: number;
  /** Its identity: the same when it was published twice. */
  readonly id: string;
  readonly orderNo: string;
  /** `application/json` or `application/protobuf`. */
  readonly contentType: string;
  readonly data: Uint8Array;
}

/** A message of the stream: CloudEvents 1.0 in NATS's binary content mode. One that is none gets a name, under which it is put aside. */
export function arrivedEvent({ seq, headers, data }: JsMsg): ArrivedEvent {
  const attribute = (name: string, length: number) =>
    (headers?.get(`ce-${name}`) ?? '').replace(/[^\x21-\x7e]/g, '?').slice(0, length);
  const id = attribute('id', 96) || `seq ${seq}`;
  return { seq, id, orderNo: attribute('subject', 32) || id, contentType: attribute('datacontenttype', 64), data };
}

/** @throws when it is no event of an order. */
export function readEvent({ contentType, data }: Pick<ArrivedEvent, 'contentType' | 'data'>): OrderEvent {
  switch (contentType) {
    case 'application/json':
      return fromJsonString(OrderEventSchema, Buffer.from(data).toString(), { ignoreUnknownFields: true });
    case 'application/protobuf':
      return fromBinary(OrderEventSchema, data);
    default:
      throw new Error(`ce-datacontenttype is ${contentType || 'missing'}`);
  }
}
