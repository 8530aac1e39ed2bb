import { randomUUID } from 'node:crypto';
import { jetstream } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { type EventFormat, eventMessage } from '../../order-svc/outbox/cloud-event.ts';
import { prepareStream } from '../../order-svc/outbox/event-stream.ts';

/** What to tell of an order. */
export interface Told {
  readonly orderNo: string;
  readonly type?: string;
  readonly userId?: number;
  readonly totalCents?: number;
  readonly format?: EventFormat;
  /** What the payload has beyond, or instead. */
  readonly payload?: object;
}

/** Publishes events as order-svc does, except that the broker never knows one again: what is told twice stands twice in the stream. */
export class EventFeed {
  readonly #connection: NatsConnection;

  private constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  static async to(url: string): Promise<EventFeed> {
    const connection = await connect({ servers: url, reconnectTimeWait: 100 });
    await prepareStream(connection);
    return new EventFeed(connection);
  }

  /** Returns the event_id. */
  async tell({ orderNo, type = 'ORDER_CREATED', userId = 1, totalCents = 500, format = 'json', payload }: Told) {
    const eventId = `${orderNo}.${type}`;
    const order = { user_id: String(userId), total_amount_cents: String(totalCents), ...payload };
    const lease = { attempts: 1, leaseOwner: 'test' };
    const event = { eventId, orderNo, eventType: type, payload: order, createTime: new Date(), ...lease };
    const { subject, headers, data } = eventMessage(event, format);
    await jetstream(this.#connection).publish(subject, data, { headers, msgID: randomUUID(), timeout: 1000 });
    return eventId;
  }

  /** Puts something into the stream that is no event. */
  async rubbish(data: string): Promise<void> {
    await jetstream(this.#connection).publish('orders.events.RUBBISH.0', data);
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}
