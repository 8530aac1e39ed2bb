import assert from 'node:assert/strict';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { CancelledBy, OrderStatus } from '../../../gen/ordersystem/order/v1/order_pb.ts';
import { jsonOf } from '../../../runtime/db/statements.ts';
import { failsWith } from '../../support/expect.ts';
import {
  as,
  availableOf,
  movementsOf,
  newKey,
  type OrderNode,
  product,
  relay,
  useSystem,
} from '../../support/system.ts';
import { cancel, eventsOf, newPaymentNo, order, pay, stateOf, told } from './life.ts';

describe('CancelOrder', () => {
  const system = useSystem();
  let node: OrderNode;
  let orderNo: string;

  before(async () => (node = await system.orderNode()));
  beforeEach(async () => (orderNo = await order(system, node)));

  const payloadOf = async (eventType: string) => {
    const where = { order_no: orderNo, event_type: eventType };
    return jsonOf((await system.orderDb.EventRecord.findOne({ where, rejectOnEmpty: true })).payload);
  };
  const productOf = async () => {
    const [item] = await system.orderDb.OrderItem.findAll({ where: { order_no: orderNo }, raw: true });
    return BigInt(item!.product_id);
  };
  it('makes the order CANCELLED, once; every repeat gets it as it was cancelled first', async () => {
    const first = await cancel(node, orderNo, 'changed my mind 🙃');
    assert.equal(first.replayed, false);
    assert.equal(first.order!.status, OrderStatus.CANCELLED);
    assert.equal(first.order!.cancelledBy, CancelledBy.USER);
    assert.equal(first.order!.cancelReason, 'changed my mind 🙃');
    assert.ok(Math.abs(timestampDate(first.order!.cancelTime!).getTime() - Date.now()) < 60_000);
    assert.deepEqual([first.order!.payTime, first.order!.paymentNo], [undefined, undefined]);
    assert.deepEqual(await cancel(node, orderNo, 'another reason'), { ...first, replayed: true });
    assert.deepEqual((await node.client.getOrder({ orderNo }, as(1))).order, first.order);
    assert.deepEqual(await eventsOf(system, orderNo), ['ORDER_CANCELLED', 'ORDER_CREATED', 'STOCK_RESTORE']);
  });

  it('gives the stock back, once, through the relay', async () => {
    await cancel(node, orderNo);
    await cancel(node, orderNo);
    const productId = await productOf();
    assert.equal(await availableOf(system, productId), 0n);
    await relay(system);
    assert.equal(await availableOf(system, productId), 2n);
    assert.deepEqual(await movementsOf(system, productId), ['DEDUCT 2', 'RESTORE 2']);
  });

  it('lets a Deduct of the order that is still on its way take nothing', async () => {
    await cancel(node, orderNo);
    await relay(system);
    const productId = await productOf();
    await failsWith(system.stock.deduct({ orderNo, items: [{ productId, quantity: 2n }] }), 'ORDER_CLOSED');
    assert.equal(await availableOf(system, productId), 2n);
  });

  it('writes ORDER_CANCELLED with the order, who did it and why, and STOCK_RESTORE with the items', async () => {
    await cancel(node, orderNo, 'too late');
    const created = (await payloadOf('ORDER_CREATED')) as { items: unknown };
    assert.deepEqual(await payloadOf('ORDER_CANCELLED'), { ...created, cancelled_by: 'USER', reason: 'too late' });
    assert.deepEqual(await payloadOf('STOCK_RESTORE'), { order_no: orderNo, items: created.items });
  });

  it('with nothing said has no reason', async () => {
    const { order: cancelled } = await cancel(node, orderNo);
    assert.equal(cancelled!.cancelReason, undefined);
    assert.ok(!('reason' in ((await payloadOf('ORDER_CANCELLED')) as object)));
  });

  it('of 20 at once cancels once', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => told(cancel(node, orderNo))));
    assert.deepEqual(answers.toSorted(), ['done', ...Array<string>(19).fill('replayed')]);
    assert.deepEqual(await eventsOf(system, orderNo), ['ORDER_CANCELLED', 'ORDER_CREATED', 'STOCK_RESTORE']);
  });

  it('of a paid order is ORDER_NOT_CANCELLABLE', async () => {
    const paymentNo = newPaymentNo();
    await pay(node, orderNo, paymentNo);
    await failsWith(cancel(node, orderNo), 'ORDER_NOT_CANCELLABLE');
    assert.equal(await stateOf(system, orderNo), `PAID by ${paymentNo}`);
    assert.deepEqual(await eventsOf(system, orderNo), ['ORDER_CREATED', 'ORDER_PAID']);
  });

  it('of another user’s order is ORDER_NOT_FOUND, as of one that is not there', async () => {
    const foreign = await failsWith(cancel(node, orderNo, '', 2), 'ORDER_NOT_FOUND');
    const missing = await failsWith(cancel(node, '1'), 'ORDER_NOT_FOUND');
    assert.equal(foreign.message, missing.message);
    assert.equal(await stateOf(system, orderNo), 'WAIT_PAY');
  });

  it('does not free the key: CreateOrder replays the cancelled order', async () => {
    const request = { clientRequestId: newKey(), items: [{ productId: await product(system, 2n), quantity: 2n }] };
    const created = await node.client.createOrder(request, as(1));
    const { order: cancelled } = await cancel(node, created.order!.orderNo);
    assert.deepEqual(await node.client.createOrder(request, as(1)), { ...created, replayed: true, order: cancelled });
  });

  it('takes a reason of 256 characters, and no longer one: INVALID_REQUEST', async () => {
    const longest = '𝄞'.repeat(256);
    const error: ConnectError = await failsWith(cancel(node, orderNo, `${longest}.`), 'INVALID_REQUEST');
    assert.deepEqual(
      error.findDetails(BadRequestSchema).flatMap((bad) => bad.fieldViolations.map(({ field }) => field)),
      ['reason'],
    );
    await failsWith(cancel(node, 'x'), 'INVALID_REQUEST');
    assert.equal((await cancel(node, orderNo, longest)).order!.cancelReason, longest);
  });
});
