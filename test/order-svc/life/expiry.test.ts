import assert from 'node:assert/strict';
import { expireTogether } from '../../../order-svc/db/cancel-orders.ts';
import { openOrderDb } from '../../../order-svc/db/models.ts';
import { CancelledBy } from '../../../gen/ordersystem/order/v1/order_pb.ts';
import { jsonOf } from '../../../runtime/db/statements.ts';
import { as, databaseUrlOf, type OrderNode, useSystem } from '../../support/system.ts';
import { age, cancel, eventsOf, expire, newPaymentNo, order, pay, stateOf, WINDOW_MS } from './life.ts';

describe('orders that are not paid in time', () => {
  const system = useSystem();
  let node: OrderNode;

  before(async () => (node = await system.orderNode()));

  const orders = (count: number) => Promise.all(Array.from({ length: count }, () => order(system, node)));
  const statesOf = (orderNos: string[]) => Promise.all(orderNos.map((orderNo) => stateOf(system, orderNo)));

  it('are cancelled, with the events of a cancelled order; younger ones are left alone', async () => {
    const [old, young] = await orders(2);
    await age(system, old!);
    assert.deepEqual(await expire(system.orderDb), { told: 'done', more: false });
    assert.deepEqual(await statesOf([old!, young!]), ['CANCELLED by EXPIRY', 'WAIT_PAY']);
    assert.deepEqual(await eventsOf(system, old!), ['ORDER_CANCELLED', 'ORDER_CREATED', 'STOCK_RESTORE']);
    const where = { order_no: old!, event_type: 'ORDER_CANCELLED' };
    const payload = jsonOf((await system.orderDb.EventRecord.findOne({ where, rejectOnEmpty: true })).payload);
    assert.equal((payload as { cancelled_by: string }).cancelled_by, 'EXPIRY');
    assert.ok(!('reason' in (payload as object)));
    const { order: seen } = await node.client.getOrder({ orderNo: old! }, as(1));
    assert.deepEqual([seen!.cancelledBy, seen!.cancelReason], [CancelledBy.EXPIRY, undefined]);
  });

  it('are none of those that were paid or cancelled, however old', async () => {
    const [paid, cancelled] = await orders(2);
    const paymentNo = newPaymentNo();
    await age(system, paid!, cancelled!);
    await pay(node, paid!, paymentNo);
    await cancel(node, cancelled!);
    assert.deepEqual(await expire(system.orderDb), { told: 'nothing', more: false });
    assert.deepEqual(await statesOf([paid!, cancelled!]), [`PAID by ${paymentNo}`, 'CANCELLED by USER']);
  });

  it('are told by the clock of the database, whatever that of the process says', async () => {
    const [old, young] = await orders(2);
    await age(system, old!);
    const { now } = Date;
    for (const offset of [WINDOW_MS * 2, -WINDOW_MS * 2]) {
      Date.now = () => now() + offset;
      await expire(system.orderDb).finally(() => (Date.now = now));
    }
    assert.deepEqual(await statesOf([old!, young!]), ['CANCELLED by EXPIRY', 'WAIT_PAY']);
  });

  it('are cancelled once each, by however many passes at the same time', async () => {
    const some: string[] = [];
    while (some.length < 250) some.push(...(await orders(25)));
    await age(system, ...some);
    const pools = Array.from({ length: 4 }, () => openOrderDb({ url: databaseUrlOf(system.orderDb) }));
    await Promise.all(pools.map((db) => expire(db)));
    await expire(system.orderDb);
    assert.deepEqual(new Set(await statesOf(some)), new Set(['CANCELLED by EXPIRY']));
    await Promise.all(pools.map((db) => db.sequelize.close()));
  });

  it('expire but for those that cannot, which hold up no other', async () => {
    const some = await orders(5);
    await age(system, ...some);
    const stray = {
      order_no: some[0]!,
      event_id: `${some[0]}.STOCK_RESTORE`,
      event_type: 'STOCK_RESTORE',
      payload: {},
    };
    await system.orderDb.EventRecord.create(stray);
    assert.deepEqual(await expire(system.orderDb), { told: 'failed', more: false });
    assert.deepEqual(await statesOf(some), ['WAIT_PAY', ...Array<string>(4).fill('CANCELLED by EXPIRY')]);
    await system.orderDb.EventRecord.destroy({ where: { event_id: stray.event_id } });
    assert.equal((await expire(system.orderDb)).told, 'done');
    assert.equal(await stateOf(system, some[0]!), 'CANCELLED by EXPIRY');
  });

  it('are each answered for when only some of a batch expire', async () => {
    const some = await orders(3);
    await cancel(node, some[1]!);
    assert.deepEqual(await expireTogether(system.orderDb, some), [true, false, true]);
  });
});
