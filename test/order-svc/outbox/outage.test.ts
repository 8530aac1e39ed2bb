import assert from 'node:assert/strict';
import { connectOrderService } from '../../../client/clients.ts';
import { removeStream, storedEvents, useBroker } from '../../support/broker.ts';
import { until } from '../../support/expect.ts';
import { SqlProxy } from '../../support/sql-proxy.ts';
import { as, newKey, product, useSystem } from '../../support/system.ts';
import { payloadOf, writeEvent } from './event-rig.ts';

type Shop = ReturnType<typeof connectOrderService>['client'];

const WITHOUT_ORDER = '1';

describe('a broker that goes away', function () {
  this.timeout(60_000);
  const system = useSystem();
  const nats = useBroker();
  let tea: bigint;
  let orders: string[];
  const closes: (() => void)[] = [];

  after(() => closes.forEach((close) => close()));
  beforeEach(async () => {
    tea = await product(system, 100_000n);
    orders = [];
  });
  afterEach(async () => {
    await system.orderDb.EventRecord.destroy({ where: { order_no: WITHOUT_ORDER } });
    await removeStream(nats.broker.url);
  });

  /** One more order-svc, and a client of it that repeats what a busy machine does not answer in time. */
  async function node(url = nats.broker.url): Promise<Shop> {
    const env = { EVENTS_URL: url, RELAY_INTERVAL_MS: '50', EVENT_MAX_ATTEMPTS: '2' };
    const { client, close } = connectOrderService((await system.orderNode(env)).address);
    closes.push(close);
    return client;
  }

  /** Orders one after the other until there are so many of all callers together. */
  async function buyUntil(client: Shop, count: number, paid = false) {
    const user = as(1, { timeoutMs: 30_000 });
    while (orders.length < count) {
      const request = { clientRequestId: newKey(), items: [{ productId: tea, quantity: 1n }] };
      const { orderNo, totalAmountCents: amountCents } = (await client.createOrder(request, user)).order!;
      orders.push(orderNo);
      if (paid) await client.payOrder({ orderNo, paymentNo: `p-${orderNo}`, amountCents }, user);
    }
  }
  const callers = (count: number, call: () => Promise<void>) => Promise.all(Array.from({ length: count }, call));
  const waiting = () => system.orderDb.EventRecord.count({ where: { status: ['WAIT', 'DEAD'] } });
  const allSent = () => until('every event is sent', async () => (await waiting()) === 0, 20_000);
  const idsIn = async () => (await storedEvents(nats.broker.url)).map((event) => event.id);

  it('under load: orders go on, and every event is published when it is back, once', async () => {
    const shop = await node();
    await callers(16, () => buyUntil(shop, 200));
    const killed = nats.broker.kill();
    await callers(16, () => buyUntil(shop, 400));
    await killed;
    await callers(16, () => buyUntil(shop, 500));
    assert.ok((await waiting()) >= 100, 'what was made without a broker waits');
    const back = nats.broker.startAgain();
    await callers(16, () => buyUntil(shop, 700));
    await back;
    await allSent();
    assert.deepEqual((await idsIn()).toSorted(), orders.map((orderNo) => `${orderNo}.ORDER_CREATED`).toSorted());
  });

  it('and comes back again and again: the events of an order keep their order, with two relays at work', async () => {
    const nodes = [await node(), await node()];
    let over = false;
    const unrest = (async () => {
      while (!over) {
        await nats.broker.kill();
        await nats.broker.startAgain();
        const next = orders.length + 50;
        await until('more orders are made', () => over || orders.length >= next);
      }
    })();
    await Promise.all(nodes.map((one) => callers(8, () => buyUntil(one, 600, true))));
    over = true;
    await unrest;
    await allSent();
    const ids = await idsIn();
    assert.equal(new Set(ids).size, orders.length * 2);
    for (const orderNo of orders) {
      assert.ok(ids.indexOf(`${orderNo}.ORDER_CREATED`) < ids.indexOf(`${orderNo}.ORDER_PAID`), orderNo);
    }
  });

  it('for one of two processes, which has the first event of an order in hand: no relay takes the second', async () => {
    const proxy = await SqlProxy.to(nats.broker.url);
    const stuck = await node(proxy.url);
    await node();
    const held = proxy.hold(/HPUB orders\.events\.ORDER_CREATED/);
    await buyUntil(stuck, 1, true);
    await held.reached;
    const [orderNo] = orders;
    await writeEvent(system, WITHOUT_ORDER, 'ORDER_PAID', { payload: payloadOf(WITHOUT_ORDER) });
    await until('the relays have looked', async () => (await idsIn()).length > 0);
    held.release();
    await allSent();
    assert.deepEqual(await idsIn(), [
      `${WITHOUT_ORDER}.ORDER_PAID`,
      `${orderNo}.ORDER_CREATED`,
      `${orderNo}.ORDER_PAID`,
    ]);
    await proxy.close();
  });

  it('before a process starts: it starts, takes orders, and publishes their events later', async () => {
    await nats.broker.kill();
    const shop = await node();
    await buyUntil(shop, 3);
    assert.equal(await waiting(), 3);
    await nats.broker.startAgain();
    await allSent();
    assert.deepEqual((await idsIn()).toSorted(), orders.map((orderNo) => `${orderNo}.ORDER_CREATED`).toSorted());
    const attempts = await system.orderDb.EventRecord.max('attempts');
    assert.equal(attempts, 1, 'the outage has used up no attempts');
  });
});
