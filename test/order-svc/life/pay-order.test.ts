import assert from 'node:assert/strict';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { OrderStatus } from '../../../gen/ordersystem/order/v1/order_pb.ts';
import { jsonOf } from '../../../runtime/db/statements.ts';
import { errorInfoOf } from '../../../runtime/rpc/errors.ts';
import { failsWith, until } from '../../support/expect.ts';
import { as, movementsOf, newKey, type OrderNode, product, useSystem } from '../../support/system.ts';
import { cancel, eventsOf, newPaymentNo, order, pay, someoneWaits, stateOf, told, TOTAL, useParties } from './life.ts';

describe('PayOrder', () => {
  const system = useSystem();
  const parties = useParties(system);
  let node: OrderNode;
  let orderNo: string;
  let paymentNo: string;

  beforeEach(async () => {
    node = parties.a.node;
    [orderNo, paymentNo] = [await order(system, node), newPaymentNo()];
  });

  const fieldsOf = (error: ConnectError) =>
    error.findDetails(BadRequestSchema).flatMap((bad) => bad.fieldViolations.map((violation) => violation.field));
  const payloadOf = async (eventId: string) => {
    const where = { order_no: orderNo, event_id: `${orderNo}.${eventId}` };
    return jsonOf((await system.orderDb.EventRecord.findOne({ where, rejectOnEmpty: true })).payload);
  };

  it('makes the order PAID, once, and gives it to every repeat', async () => {
    const { order: paid, replayed } = await pay(node, orderNo, paymentNo);
    assert.equal(replayed, false);
    assert.equal(paid!.status, OrderStatus.PAID);
    assert.equal(paid!.paymentNo, paymentNo);
    assert.ok(Math.abs(timestampDate(paid!.payTime!).getTime() - Date.now()) < 60_000);
    assert.deepEqual([paid!.cancelTime, paid!.cancelReason], [undefined, undefined]);
    for (const { node: one } of [parties.a, parties.b]) {
      const repeat = await pay(one, orderNo, paymentNo);
      assert.equal(repeat.replayed, true);
      assert.deepEqual(repeat.order, paid);
    }
    assert.deepEqual((await node.client.getOrder({ orderNo }, as(1))).order, paid);
    assert.deepEqual(await eventsOf(system, orderNo), ['ORDER_CREATED', 'ORDER_PAID']);
  });

  it('writes ORDER_PAID with the order and the payment', async () => {
    await pay(node, orderNo, paymentNo);
    const created = (await payloadOf('ORDER_CREATED')) as object;
    assert.deepEqual(await payloadOf('ORDER_PAID'), { ...created, payment_no: paymentNo, amount_cents: String(TOTAL) });
  });

  it('of 20 at once with one payment_no pays once', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => told(pay(node, orderNo, paymentNo))));
    assert.deepEqual(answers.toSorted(), ['done', ...Array<string>(19).fill('replayed')]);
    assert.deepEqual(await eventsOf(system, orderNo), ['ORDER_CREATED', 'ORDER_PAID']);
  });

  for (const [what, look] of Object.entries({ payment: /FROM t_payment/, order: /FROM t_order o JOIN/ })) {
    it(`replays to a repeat that looks at the ${what} before, and at the rest after the first has committed`, async () => {
      const { a, b } = parties;
      const held = b.node.sql.hold(look);
      const repeat = told(pay(b.node, orderNo, paymentNo));
      await held.reached;
      assert.equal(await told(pay(a.node, orderNo, paymentNo)), 'done');
      held.release();
      assert.equal(await repeat, 'replayed');
      assert.deepEqual(await eventsOf(system, orderNo), ['ORDER_CREATED', 'ORDER_PAID']);
    });
  }

  for (const wrong of [TOTAL - 1n, TOTAL + 1n, 0n]) {
    it(`of ${wrong} cents for an order of ${TOTAL}: AMOUNT_MISMATCH, and the order waits on`, async () => {
      const error = await failsWith(pay(node, orderNo, paymentNo, wrong), 'AMOUNT_MISMATCH');
      const metadata = { amount_cents: String(wrong), total_amount_cents: String(TOTAL), retry: 'never' };
      assert.deepEqual(errorInfoOf(error)!.metadata, metadata);
      assert.equal(await stateOf(system, orderNo), 'WAIT_PAY');
      assert.deepEqual(await eventsOf(system, orderNo), ['ORDER_CREATED']);
      assert.equal(await told(pay(node, orderNo, paymentNo)), 'done', 'the payment was not bound');
    });
  }

  it('pays an order of 0 cents', async () => {
    const free = await product(system, 1n, 0n);
    const items = [{ productId: free, quantity: 1n }];
    const created = await node.client.createOrder({ clientRequestId: newKey(), items }, as(1));
    assert.equal(await told(pay(node, created.order!.orderNo, paymentNo, 0n)), 'done');
  });

  it('refuses a second payment, for it to be given back, as often as it comes', async () => {
    const second = newPaymentNo();
    await pay(node, orderNo, paymentNo);
    await failsWith(pay(node, orderNo, second), 'ORDER_ALREADY_PAID');
    await failsWith(pay(node, orderNo, second), 'ORDER_ALREADY_PAID');
    assert.equal(await stateOf(system, orderNo), `PAID by ${paymentNo}`);
    const refused = `ORDER_PAYMENT_REFUSED.${second}`;
    assert.deepEqual(await eventsOf(system, orderNo), ['ORDER_CREATED', 'ORDER_PAID', refused]);
    const created = (await payloadOf('ORDER_CREATED')) as object;
    assert.deepEqual(await payloadOf(refused), {
      ...created,
      payment_no: second,
      amount_cents: String(TOTAL),
      reason: 'ORDER_ALREADY_PAID',
    });
  });

  it('refuses a payment of a cancelled order, whatever its amount, for it to be given back', async () => {
    await cancel(node, orderNo);
    await failsWith(pay(node, orderNo, paymentNo, 1n), 'ORDER_NOT_PAYABLE');
    await failsWith(pay(node, orderNo, paymentNo, 1n), 'ORDER_NOT_PAYABLE');
    await failsWith(pay(node, orderNo, paymentNo, 2n), 'PAYMENT_NO_REUSED');
    const refused = `ORDER_PAYMENT_REFUSED.${paymentNo}`;
    assert.deepEqual(await eventsOf(system, orderNo), ['ORDER_CANCELLED', 'ORDER_CREATED', refused, 'STOCK_RESTORE']);
    const { payment_no, amount_cents, reason } = (await payloadOf(refused)) as Record<string, string>;
    assert.deepEqual([payment_no, amount_cents, reason], [paymentNo, '1', 'ORDER_NOT_PAYABLE']);
  });

  it('lets a payment pay one order: another, or another amount, is PAYMENT_NO_REUSED and leaves no trace', async () => {
    const [other, cancelled] = [await order(system, node), await order(system, node)];
    await cancel(node, cancelled);
    await pay(node, orderNo, paymentNo);
    const wrong: Parameters<typeof pay>[] = [
      [node, other, paymentNo],
      [node, cancelled, paymentNo],
      [node, orderNo, paymentNo, 1n],
    ];
    for (const payment of wrong) {
      assert.deepEqual(fieldsOf(await failsWith(pay(...payment), 'PAYMENT_NO_REUSED')), ['payment_no']);
    }
    assert.equal(await stateOf(system, other), 'WAIT_PAY');
    assert.deepEqual(await eventsOf(system, other), ['ORDER_CREATED']);
    assert.deepEqual(await eventsOf(system, cancelled), ['ORDER_CANCELLED', 'ORDER_CREATED', 'STOCK_RESTORE']);
  });

  it('does not let a payment that was refused, and is given back, pay another order', async () => {
    const cancelled = await order(system, node);
    await cancel(node, cancelled);
    await failsWith(pay(node, cancelled, paymentNo), 'ORDER_NOT_PAYABLE');
    await failsWith(pay(node, orderNo, paymentNo), 'PAYMENT_NO_REUSED');
    assert.equal(await stateOf(system, orderNo), 'WAIT_PAY');
  });

  it('with one payment_no for two orders at once pays one of them', async () => {
    const { a, b } = parties;
    const other = await order(system, node);
    const commit = a.node.sql.hold(/COMMIT;/);
    const first = told(pay(a.node, orderNo, paymentNo));
    await commit.reached;
    const second = told(pay(b.node, other, paymentNo));
    await until('it waits for the payment', () => someoneWaits(system));
    commit.release();
    assert.deepEqual([await first, await second], ['done', 'PAYMENT_NO_REUSED']);
    assert.equal(await stateOf(system, other), 'WAIT_PAY');
  });

  it('tells payments apart that differ in case alone', async () => {
    const other = await order(system, node);
    assert.equal(await told(pay(node, orderNo, `${paymentNo}-A`)), 'done');
    assert.equal(await told(pay(node, other, `${paymentNo}-a`)), 'done');
  });

  it('of another user’s order is ORDER_NOT_FOUND, as of one that is not there', async () => {
    const foreign = await failsWith(pay(node, orderNo, paymentNo, TOTAL, 2), 'ORDER_NOT_FOUND');
    const missing = await failsWith(pay(node, '1', paymentNo), 'ORDER_NOT_FOUND');
    assert.equal(foreign.message, missing.message);
    assert.equal(await stateOf(system, orderNo), 'WAIT_PAY');
    await pay(node, orderNo, paymentNo);
    await failsWith(pay(node, orderNo, paymentNo, TOTAL, 2), 'ORDER_NOT_FOUND');
    assert.equal(await system.orderDb.Payment.count({ where: { payment_no: paymentNo } }), 1);
  });

  it('leaves the stock where it is', async () => {
    await pay(node, orderNo, paymentNo);
    const [item] = await system.orderDb.OrderItem.findAll({ where: { order_no: orderNo }, raw: true });
    assert.deepEqual(await movementsOf(system, BigInt(item!.product_id)), ['DEDUCT 2']);
  });

  it('does not change what CreateOrder replays but for what has become of it', async () => {
    const items = [{ productId: await product(system, 2n), quantity: 2n }];
    const request = { clientRequestId: newKey(), items };
    const created = await node.client.createOrder(request, as(1));
    const { order: paid } = await pay(node, created.order!.orderNo, paymentNo);
    assert.deepEqual(await node.client.createOrder(request, as(1)), { ...created, replayed: true, order: paid });
  });

  const wrong = {
    order_no: { orderNo: 'x' },
    payment_no: { paymentNo: '' },
    'payment_no of 49': { paymentNo: 'p'.repeat(49) },
    'payment_no with a space': { paymentNo: 'p ' },
    amount_cents: { amountCents: -1n },
    'amount_cents over DECIMAL(12,2)': { amountCents: 10n ** 12n },
  };
  for (const [what, change] of Object.entries(wrong)) {
    it(`with a wrong ${what} touches nothing: INVALID_REQUEST`, async () => {
      const call = node.client.payOrder({ orderNo, paymentNo, amountCents: TOTAL, ...change }, as(1));
      assert.deepEqual(fieldsOf(await failsWith(call, 'INVALID_REQUEST')), [what.split(' ')[0]]);
      assert.equal(await stateOf(system, orderNo), 'WAIT_PAY');
    });
  }
});
