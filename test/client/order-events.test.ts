import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { jetstreamManager } from '@nats-io/jetstream';
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { consumeOrderEvents, type EventHandler, type OrderEvents } from '../../client/order-events.ts';
import { createDatabase, dropDatabase } from '../../dev/database/create-database.ts';
import type { OrderEvent } from '../../gen/ordersystem/order/v1/order_event_pb.ts';
import { EVENT_STREAM } from '../../order-svc/outbox/event-stream.ts';
import { removeStream, useBroker, withBroker } from '../support/broker.ts';
import { EventFeed, type Told } from '../support/event-feed.ts';
import { until } from '../support/expect.ts';
import { serverUrl } from '../support/setup.ts';
import { SqlProxy } from '../support/sql-proxy.ts';

describe('a consumer of order events', function () {
  this.timeout(60_000);
  const nats = useBroker();
  const name = `test_consumer_${randomUUID().slice(0, 8)}`;
  let proxy: SqlProxy & { url: string };
  let db: Pool;
  let feed: EventFeed;
  let consumers: OrderEvents[];
  let log: Record<string, unknown>[];

  beforeEach(async () => {
    const url = await createDatabase(serverUrl(), name);
    proxy = await SqlProxy.to(url);
    db = createPool({ uri: url });
    await db.query('CREATE TABLE t_seen (n BIGINT AUTO_INCREMENT PRIMARY KEY, event_id VARCHAR(96))');
    feed = await EventFeed.to(nats.broker.url);
    consumers = [];
    log = [];
  });
  afterEach(async () => {
    await Promise.all(consumers.map((consumer) => consumer.stop()));
    await feed.close();
    await removeStream(nats.broker.url);
    await proxy.close();
    await db.end();
    await dropDatabase(serverUrl(), name);
  });

  /** Notes an event in the transaction of its consumer. */
  const note: EventHandler = async ({ eventId }, tx) => {
    await tx.query('INSERT INTO t_seen (event_id) VALUES (?)', [eventId]);
  };
  function consume(handle: EventHandler = note, more: { maxAttempts?: number; durable?: string } = {}): OrderEvents {
    const line = (fields: object, message: string) => void log.push({ ...fields, message });
    const logger = { info: line, warn: line, error: line } as never;
    const pool = createPool({ uri: proxy.url, connectTimeout: 1000 });
    const consumer = consumeOrderEvents({
      servers: nats.broker.url,
      durable: 'test',
      db: pool,
      handle,
      logger,
      ...more,
    });
    const stop = consumer.stop.bind(consumer);
    consumer.stop = async () => {
      await stop();
      await pool.end().catch(() => {});
    };
    consumers.push(consumer);
    return consumer;
  }
  const failOn =
    (bad: string): EventHandler =>
    async (event, tx) => {
      await note(event, tx);
      if (event.eventId === bad) throw new Error('no');
    };
  const ids = async (sql: string) => (await db.query<RowDataPacket[]>(sql))[0].map((row) => String(row['event_id']));
  const seen = () => ids('SELECT event_id FROM t_seen ORDER BY n');
  const dead = () => ids('SELECT event_id FROM t_dead_event ORDER BY id').catch(() => []);
  const hasSeen = (wanted: readonly string[]) =>
    until(`seen ${wanted.length}`, async () => (await seen()).length >= wanted.length, 20_000);
  const logged = (pattern: RegExp) => log.filter((line) => pattern.test(String(line['message'])));
  async function tell(...orders: (string | Told)[]): Promise<string[]> {
    const told = [];
    for (const order of orders) told.push(await feed.tell(typeof order === 'string' ? { orderNo: order } : order));
    return told;
  }

  it('gets each event as the contract has it, in order, from the first', async () => {
    const events: OrderEvent[] = [];
    const told = await tell(
      { orderNo: '1', userId: 7, totalCents: 250, payload: { items: [{ product_id: '3', title: 'Tea' }] } },
      { orderNo: '1', userId: 7, type: 'ORDER_PAID', format: 'protobuf', payload: { payment_no: 'p' } },
      { orderNo: '2', type: 'ORDER_CANCELLED', payload: { cancelled_by: 'EXPIRY' } },
    );
    consume(async (event, tx) => {
      await note(event, tx);
      events.push(event);
    });
    await hasSeen(told);
    assert.deepEqual(await seen(), told);
    assert.equal(events[0]!.items[0]!.productId, 3n);
    assert.equal(events[0]!.totalAmountCents, 250n);
    assert.equal(events[1]!.payment!.paymentNo, 'p');
    assert.equal(events[2]!.cancellation!.cancelledBy, 2);
  });

  it('gets none twice: not in one batch, not later, not in another process', async () => {
    const [first, , second] = await tell('1', '1', '2');
    consume();
    await hasSeen([first!, second!]);
    consume();
    const [, , third] = await tell('2', '1', '3');
    await hasSeen([first!, second!, third!]);
    assert.deepEqual(await seen(), [first, second, third]);
  });

  it('gets all of them again under another name', async () => {
    const told = await tell('1', '2');
    consume();
    await hasSeen(told);
    consume(note, { durable: 'other' });
    await hasSeen([...told, ...told]);
    assert.deepEqual(await seen(), [...told, ...told]);
  });

  it('has nothing of what a handler did that failed, and tries again, in order', async () => {
    let failures = 3;
    const told = await tell('1', '2', '3');
    consume(async (event, tx) => {
      await note(event, tx);
      if (event.orderNo === '2' && failures-- > 0) throw new Error('not yet');
    });
    await hasSeen(told);
    assert.deepEqual(await seen(), told);
    assert.deepEqual(await dead(), []);
  });

  it('puts aside what its handler fails on for good, with all that is of its order, and goes on', async () => {
    const [bad, good, later] = await tell('1', '2', { orderNo: '1', type: 'ORDER_PAID' });
    consume(failOn(bad!), { maxAttempts: 2 });
    await hasSeen([good!]);
    const [, cancelled, next] = await tell('1', { orderNo: '1', type: 'ORDER_CANCELLED' }, '3');
    await hasSeen([good!, next!]);
    assert.deepEqual(await seen(), [good, next]);
    assert.deepEqual(await dead(), [bad, later, cancelled]);
    assert.equal(logged(/put aside in t_dead_event/).length, 1);
  });

  it('handles what was put aside when it is told to, in order, and what fails again stays', async () => {
    const [bad, good, later] = await tell('1', '2', { orderNo: '1', type: 'ORDER_PAID' });
    const broken = new Set([bad, good, later]);
    const handle: EventHandler = async (event, tx) => {
      await note(event, tx);
      if (broken.has(event.eventId)) throw new Error('no');
    };
    const consumer = consume(handle, { maxAttempts: 1 });
    await until('all are put aside', async () => (await dead()).length === 3);
    assert.deepEqual(await consumer.retryDead(), { handled: 0, left: 3 });
    assert.deepEqual(await seen(), []);
    broken.delete(good);
    broken.delete(later);
    assert.deepEqual(await consumer.retryDead(), { handled: 1, left: 2 });
    broken.clear();
    assert.deepEqual(await consumer.retryDead(), { handled: 2, left: 0 });
    assert.deepEqual(await seen(), [good, bad, later]);
    assert.deepEqual(await dead(), []);
  });

  it('drops nothing that it cannot read', async () => {
    await feed.rubbish('what is this?');
    const told = await tell('1');
    consume(note, { maxAttempts: 1 });
    await hasSeen(told);
    assert.deepEqual(await dead(), ['seq 1']);
  });

  it('waits for its database, and blames no event', async () => {
    const told = await tell('1');
    consume(note, { maxAttempts: 1 });
    await hasSeen(told);
    proxy.refuse();
    told.push(...(await tell('2', '3')));
    await until('it has noticed', () => logged(/no events can be had now/).length > 1);
    proxy.allow();
    await hasSeen(told);
    assert.deepEqual(await seen(), told);
    assert.deepEqual(await dead(), []);
  });

  it('blames no event for a connection that is lost while it is handled', async () => {
    const cut = proxy.cutBefore(/INSERT INTO t_seen/);
    const told = await tell('1');
    consume(note, { maxAttempts: 1 });
    await cut;
    told.push(...(await tell('2')));
    await hasSeen(told);
    assert.deepEqual(await seen(), told);
    assert.deepEqual(await dead(), []);
  });

  it('goes on when the broker comes back', async () => {
    const told = await tell('1');
    consume();
    await hasSeen(told);
    await nats.broker.kill();
    await nats.broker.startAgain();
    await until(
      'events can be told again',
      () =>
        tell('2').then(
          (more) => told.push(...more) > 0,
          () => false,
        ),
      20_000,
    );
    await hasSeen(told);
    assert.deepEqual(await seen(), told);
  });

  it('begins anew in a stream that was made anew, and handles nothing twice', async () => {
    const told = await tell('1', '2', '3');
    consume();
    await hasSeen(told);
    await removeStream(nats.broker.url);
    await feed.close();
    feed = await EventFeed.to(nats.broker.url);
    const [, fresh] = await tell('3', '4');
    await hasSeen([...told, fresh!]);
    assert.deepEqual(await seen(), [...told, fresh]);
  });

  it('says so when the stream has dropped what it has not read', async () => {
    const told = await tell('1');
    const first = consume();
    await hasSeen(told);
    await first.stop();
    await tell('2', '3');
    await withBroker(nats.broker.url, async (connection) => {
      await (await jetstreamManager(connection)).streams.purge(EVENT_STREAM, { keep: 1 });
    });
    consume();
    await hasSeen(['', '']);
    assert.equal(logged(/events are lost/).length, 1);
  });

  it('stops when what is in work has ended', async () => {
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const told = await tell('1');
    const consumer = consume(async (event, tx) => {
      begun.resolve();
      await gate.promise;
      await note(event, tx);
    });
    await begun.promise;
    const stopped = consumer.stop();
    gate.resolve();
    await stopped;
    assert.deepEqual(await seen(), told);
  });

  it('forgets what it has handled when it can no longer come', async () => {
    const told = await tell('1');
    consume();
    await hasSeen(told);
    await db.query('UPDATE t_handled_event SET handled_time = NOW(3) - INTERVAL 31 DAY');
    told.push(...(await tell('2')));
    await hasSeen(told);
    assert.deepEqual(await ids('SELECT event_id FROM t_handled_event'), told.slice(1));
  });

  it('is refused without a broker or a name', () => {
    const options = { servers: nats.broker.url, durable: 'test', db, handle: note };
    assert.throws(() => consumeOrderEvents({ ...options, servers: 'http://broker' }), RangeError);
    assert.throws(() => consumeOrderEvents({ ...options, durable: 'a name' }), RangeError);
  });
});
