import assert from 'node:assert/strict';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { OrderStatus } from '../../../gen/ordersystem/order/v1/order_pb.ts';
import { IntentState } from '../../../gen/ordersystem/order/v1/order_service_pb.ts';
import { decodeOrderNo } from '../../../order-svc/domain/order-no.ts';
import { jsonOf } from '../../../runtime/db/statements.ts';
import { failsWith } from '../../support/expect.ts';
import { as, availableOf, newKey, type OrderNode, product, useSystem } from '../../support/system.ts';

describe('orders', () => {
  const system = useSystem();
  let node: OrderNode;
  before(async () => (node = await system.orderNode()));

  it('carry what was bought, at the titles and prices of that moment, whatever the product becomes', async () => {
    const [tea, cup] = [await product(system, 10n, 250n), await product(system, 10n, 1999n)];
    const items = [
      { productId: cup, quantity: 1n },
      { productId: tea, quantity: 2n, unitPriceCents: 250n },
      { productId: cup, quantity: 3n },
    ];
    const { order } = await node.client.createOrder({ clientRequestId: newKey(), items }, as(77));
    const line = (productId: bigint, quantity: bigint, unitPriceCents: bigint) => ({
      $typeName: 'ordersystem.order.v1.OrderItem',
      productId,
      quantity,
      title: `Product ${productId}`,
      unitPriceCents,
    });
    assert.deepEqual(order!.items, [line(cup, 1n, 1999n), line(tea, 2n, 250n), line(cup, 3n, 1999n)]);
    assert.equal(order!.totalAmountCents, 4n * 1999n + 2n * 250n);
    assert.equal(order!.status, OrderStatus.WAIT_PAY);
    assert.equal(decodeOrderNo(order!.orderNo).gene, 77);
    assert.ok(Math.abs(timestampDate(order!.createTime!).getTime() - Date.now()) < 60_000);
    assert.equal(await availableOf(system, cup), 6n);

    await system.stock.putProducts({ products: [{ productId: tea, title: 'New', unitPriceCents: 1n }] });
    assert.deepEqual((await node.client.getOrder({ orderNo: order!.orderNo }, as(77))).order, order);
  });

  it('write one ORDER_CREATED event with the order', async () => {
    const tea = await product(system, 10n);
    const key = newKey();
    const { order } = await node.client.createOrder(
      { clientRequestId: key, items: [{ productId: tea, quantity: 2n }] },
      as(5),
    );
    const event = await system.orderDb.EventRecord.findOne({
      where: { order_no: order!.orderNo },
      rejectOnEmpty: true,
    });
    assert.equal(event.event_id, `${order!.orderNo}.ORDER_CREATED`);
    assert.deepEqual(jsonOf(event.payload), {
      order_no: order!.orderNo,
      user_id: '5',
      client_request_id: key,
      total_amount_cents: '500',
      items: [{ product_id: String(tea), quantity: '2', title: `Product ${tea}`, unit_price_cents: '250' }],
    });
  });

  it('asked for by many at once are given each to his own user, and to nobody else', async () => {
    const tea = await product(system, 20n);
    const users = Array.from({ length: 20 }, (_, i) => 100 + i);
    const items = [{ productId: tea, quantity: 1n }];
    const made = await Promise.all(
      users.map((user) => node.client.createOrder({ clientRequestId: newKey(), items }, as(user))),
    );
    const asked = users.flatMap((user) => made.map(({ order }, i) => ({ user, order: order!, owner: users[i] })));
    await Promise.all(
      asked.map(async ({ user, order, owner }) => {
        const call = node.client.getOrder({ orderNo: order.orderNo }, as(user));
        if (user === owner) assert.deepEqual((await call).order, order);
        else await failsWith(call, 'ORDER_NOT_FOUND');
      }),
    );
  });

  it('of another user are not there', async () => {
    const tea = await product(system, 10n);
    const { order } = await node.client.createOrder(
      { clientRequestId: newKey(), items: [{ productId: tea, quantity: 1n }] },
      as(1),
    );
    const foreign = await failsWith(node.client.getOrder({ orderNo: order!.orderNo }, as(2)), 'ORDER_NOT_FOUND');
    const missing = await failsWith(node.client.getOrder({ orderNo: '1' }, as(2)), 'ORDER_NOT_FOUND');
    assert.equal(foreign.message, missing.message);
  });

  for (const orderNo of ['', '0', '-1', 'x', '1'.repeat(20), "1' OR '1'='1"]) {
    it(`have no number ${JSON.stringify(orderNo)}: INVALID_REQUEST`, () =>
      failsWith(node.client.getOrder({ orderNo }, as(1)), 'INVALID_REQUEST'));
  }

  it('can be asked for by key: NOT_FOUND, IN_PROGRESS, CREATED, and NOT_FOUND to anybody else', async () => {
    const [key, tea] = [newKey(), await product(system, 10n)];
    const ask = (user: number) => node.client.getOrderByClientRequestId({ clientRequestId: key }, as(user));
    assert.equal((await ask(1)).state, IntentState.NOT_FOUND);

    const persist = node.sql.hold(/DELETE FROM t_order_claim WHERE order_no IN/);
    const call = node.client.createOrder({ clientRequestId: key, items: [{ productId: tea, quantity: 1n }] }, as(1));
    await persist.reached;
    assert.equal((await ask(1)).state, IntentState.IN_PROGRESS);
    assert.equal((await ask(2)).state, IntentState.NOT_FOUND);
    persist.release();
    const { order } = await call;

    const answer = await ask(1);
    assert.equal(answer.state, IntentState.CREATED);
    assert.deepEqual(answer.order, order);
    const stranger = await ask(2);
    assert.equal(stranger.state, IntentState.NOT_FOUND);
    assert.equal(stranger.order, undefined);
  });

  it('are never missed by a question that is asked while they are committed', async () => {
    const [key, tea] = [newKey(), await product(system, 10n)];
    const persist = node.sql.hold(/DELETE FROM t_order_claim WHERE order_no IN/);
    const call = node.client.createOrder({ clientRequestId: key, items: [{ productId: tea, quantity: 1n }] }, as(1));
    await persist.reached;
    const look = node.sql.hold(/SELECT order_no, user_id, fingerprint, expire_time/);
    const question = node.client.getOrderByClientRequestId({ clientRequestId: key }, as(1));
    await look.reached;
    persist.release();
    await call;
    look.release();
    assert.equal((await question).state, IntentState.CREATED);
  });

  for (const clientRequestId of ['', 'k ', 'k'.repeat(65)]) {
    it(`cannot be asked for by the key ${JSON.stringify(clientRequestId)}`, () =>
      failsWith(node.client.getOrderByClientRequestId({ clientRequestId }, as(1)), 'INVALID_REQUEST'));
  }

  it('with keys that differ in case alone are two', async () => {
    const tea = await product(system, 10n);
    const [upper, lower] = await Promise.all(
      ['Key-A', 'key-a'].map((clientRequestId) =>
        node.client.createOrder({ clientRequestId, items: [{ productId: tea, quantity: 1n }] }, as(1)),
      ),
    );
    assert.notEqual(upper!.order!.orderNo, lower!.order!.orderNo);
    assert.ok(!upper!.replayed && !lower!.replayed);
  });

  it('of two products in opposite order, many at once, never lock each other out', async () => {
    const [tea, cup] = [await product(system, 60n), await product(system, 60n)];
    await Promise.all(
      Array.from({ length: 60 }, (_, i) => {
        const items = [tea, cup].map((productId) => ({ productId, quantity: 1n }));
        return node.client.createOrder({ items: i % 2 ? items : items.reverse() }, as(i + 1));
      }),
    );
    assert.deepEqual([await availableOf(system, tea), await availableOf(system, cup)], [0n, 0n]);
  });

  it('are never more than there is stock for', async () => {
    const tea = await product(system, 10n);
    const answers = await Promise.allSettled(
      Array.from({ length: 40 }, (_, i) =>
        node.client.createOrder({ clientRequestId: newKey(), items: [{ productId: tea, quantity: 1n }] }, as(i + 1)),
      ),
    );
    assert.equal(answers.filter((answer) => answer.status === 'fulfilled').length, 10);
    for (const answer of answers) {
      if (answer.status === 'rejected') await failsWith(Promise.reject(answer.reason as Error), 'INSUFFICIENT_STOCK');
    }
    assert.equal(await availableOf(system, tea), 0n);
  });
});
