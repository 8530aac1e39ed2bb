import assert from 'node:assert/strict';
import { fromBinary, fromJsonString } from '@bufbuild/protobuf';
import { jetstreamManager } from '@nats-io/jetstream';
import { OrderEventSchema } from '../../../gen/ordersystem/order/v1/order_event_pb.ts';
import type { LeasedEvent } from '../../../order-svc/db/events.ts';
import type { EventFormat } from '../../../order-svc/outbox/cloud-event.ts';
import { EVENT_STREAM } from '../../../order-svc/outbox/event-stream.ts';
import { AwayError, type Publisher } from '../../../order-svc/outbox/publisher.ts';
import { publisherFor } from '../../../order-svc/outbox/publishers.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { removeStream, storedEvents, useBroker, withBroker } from '../../support/broker.ts';
import { until } from '../../support/expect.ts';
import { SqlProxy } from '../../support/sql-proxy.ts';
import { newOrderNo, payloadOf } from './event-rig.ts';

describe('the NATS publisher', () => {
  const nats = useBroker();
  let publishers: Publisher[];

  beforeEach(() => (publishers = []));
  afterEach(async () => {
    for (const publisher of publishers) await publisher.stop();
    if (nats.broker) await removeStream(nats.broker.url);
  });

  async function start(url = nats.broker.url, format: EventFormat = 'json', onReady = () => {}): Promise<Publisher> {
    const publisher = publisherFor(url)!(format, silentLogger);
    publishers.push(publisher);
    await publisher.start(onReady);
    return publisher;
  }

  function event(more: Partial<LeasedEvent> = {}): LeasedEvent {
    const orderNo = newOrderNo();
    return {
      eventId: `${orderNo}.ORDER_CREATED`,
      orderNo,
      eventType: 'ORDER_CREATED',
      payload: payloadOf(orderNo, 298),
      createTime: new Date('2026-11-30T12:00:00.123Z'),
      attempts: 1,
      leaseOwner: 'test',
      ...more,
    };
  }

  it('publishes a CloudEvent under its type and its gene, with the payload as JSON', async () => {
    const publisher = await start();
    const created = event();
    await publisher.publish(created);
    const [stored] = await storedEvents(nats.broker.url);
    assert.equal(stored!.subject, 'orders.events.ORDER_CREATED.42');
    assert.deepEqual(stored!.headers, {
      'ce-specversion': '1.0',
      'ce-id': created.eventId,
      'ce-source': '/ordersystem/order-svc',
      'ce-type': 'ordersystem.order.v1.ORDER_CREATED',
      'ce-subject': created.orderNo,
      'ce-time': '2026-11-30T12:00:00.123Z',
      'ce-datacontenttype': 'application/json',
      'Nats-Msg-Id': created.eventId,
    });
    assert.deepEqual(JSON.parse(Buffer.from(stored!.data).toString()), {
      eventId: created.eventId,
      type: 'ORDER_EVENT_TYPE_ORDER_CREATED',
      createTime: '2026-11-30T12:00:00.123Z',
      orderNo: created.orderNo,
      userId: '298',
      clientRequestId: `key-${created.orderNo}`,
      items: [{ productId: '1', quantity: '2', title: 'Tea', unitPriceCents: '250' }],
      totalAmountCents: '500',
    });
  });

  it('publishes the same as protobuf where that is asked for', async () => {
    const publisher = await start(nats.broker.url, 'protobuf');
    await publisher.publish(event());
    await (await start()).publish(event());
    const [binary, json] = await storedEvents(nats.broker.url);
    assert.equal(binary!.headers['ce-datacontenttype'], 'application/protobuf');
    const decoded = fromBinary(OrderEventSchema, binary!.data);
    const same = fromJsonString(OrderEventSchema, Buffer.from(json!.data).toString());
    assert.deepEqual(
      { ...decoded, eventId: '', orderNo: '', clientRequestId: '' },
      { ...same, eventId: '', orderNo: '', clientRequestId: '' },
    );
  });

  it('publishes an event twice, and the broker keeps it once', async () => {
    const publisher = await start();
    const created = event();
    await publisher.publish(created);
    await publisher.publish({ ...created, attempts: 2 });
    await (await start()).publish(created);
    assert.equal((await storedEvents(nats.broker.url)).length, 1);
  });

  it('is told nothing when the answer gets lost, publishes again, and the broker keeps it once', async () => {
    const proxy = await SqlProxy.to(nats.broker.url);
    const publisher = await start(proxy.url);
    const created = event();
    const lost = proxy.cutAfter(/HPUB orders\.events/);
    await assert.rejects(publisher.publish(created), AwayError);
    await lost;
    assert.equal((await storedEvents(nats.broker.url)).length, 1, 'the broker had taken it');
    await until('it is connected again', () => publisher.isReady());
    await publisher.publish(created);
    assert.equal((await storedEvents(nats.broker.url)).length, 1);
    await publisher.stop();
    await proxy.close();
  });

  it('makes the stream with a window for repeats, once, however many start together', async () => {
    await Promise.all([start(), start(), start()]);
    await withBroker(nats.broker.url, async (connection) => {
      const { config } = await (await jetstreamManager(connection)).streams.info(EVENT_STREAM);
      assert.deepEqual(config.subjects, ['orders.events.>']);
      assert.equal(config.duplicate_window, 120e9);
      assert.equal(config.storage, 'file');
    });
  });

  it('takes a stream as it is when it takes all events', async () => {
    await stream({ name: EVENT_STREAM, subjects: ['orders.*.*.>'], max_msgs: 7 });
    await (await start()).publish(event());
    await withBroker(nats.broker.url, async (connection) => {
      const { config } = await (await jetstreamManager(connection)).streams.info(EVENT_STREAM);
      assert.equal(config.max_msgs, 7);
    });
  });

  it('refuses to start on a stream that does not take all events', async () => {
    await stream({ name: EVENT_STREAM, subjects: ['orders.events.ORDER_PAID.*', 'orders.events.*'] });
    await assert.rejects(
      start(),
      /ORDER_EVENTS takes orders\.events\.ORDER_PAID\.\*, .*; it must take orders\.events\.\*\.\*/,
    );
  });

  it('refuses to start where another stream takes its subjects, or the stream would not answer', async () => {
    await stream({ name: 'OTHER', subjects: ['orders.>'] });
    await assert.rejects(start(), /another stream takes orders\.events/);
    await withBroker(nats.broker.url, async (connection) =>
      (await jetstreamManager(connection)).streams.delete('OTHER'),
    );
    await stream({ name: EVENT_STREAM, subjects: ['orders.>'], no_ack: true });
    await assert.rejects(start(), /no_ack/);
  });

  it('makes the stream again when somebody has removed it', async () => {
    const publisher = await start();
    await removeStream(nats.broker.url);
    await assert.rejects(publisher.publish(event()), AwayError);
    assert.equal(publisher.isReady(), false);
    await until('the stream is back', () => publisher.isReady());
    await publisher.publish(event());
    assert.equal((await storedEvents(nats.broker.url)).length, 1);
  });

  it('starts while the broker is away, and is ready when it comes', async () => {
    const proxy = await SqlProxy.to(nats.broker.url);
    proxy.refuse();
    const ready = Promise.withResolvers<void>();
    const publisher = await start(proxy.url, 'json', ready.resolve);
    assert.equal(publisher.isReady(), false);
    await assert.rejects(publisher.publish(event()), AwayError);
    proxy.allow();
    await ready.promise;
    await publisher.publish(event());
    await publisher.stop();
    await proxy.close();
  });

  it('blames the event for what is wrong with it, not the broker', async () => {
    const publisher = await start();
    const isItsOwn = (error: unknown) => error instanceof Error && !(error instanceof AwayError);
    await assert.rejects(publisher.publish(event({ eventType: 'ORDER_EATEN' })), isItsOwn);
    await assert.rejects(publisher.publish(event({ payload: { user_id: 'me' } })), isItsOwn);
    await assert.rejects(
      publisher.publish(event({ payload: { ...payloadOf('1'), items: [{ title: 'x'.repeat(2e6) }] } })),
      isItsOwn,
    );
    assert.equal(publisher.isReady(), true);
    await publisher.publish(event());
  });

  async function stream(config: { name: string; subjects: string[]; max_msgs?: number; no_ack?: boolean }) {
    await withBroker(nats.broker.url, async (connection) => (await jetstreamManager(connection)).streams.add(config));
  }
});
