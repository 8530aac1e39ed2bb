import assert from 'node:assert/strict';
import { fromJsonString } from '@bufbuild/protobuf';
import { type OrderEvent, OrderEventSchema, OrderEventType } from '../../../gen/ordersystem/order/v1/order_event_pb.ts';
import { CancelledBy } from '../../../gen/ordersystem/order/v1/order_pb.ts';
import { storedEvents, useBroker } from '../../support/broker.ts';
import { failsWith, until } from '../../support/expect.ts';
import { type OrderNode, useSystem } from '../../support/system.ts';
import { cancel, newPaymentNo, order, pay, TOTAL } from '../life/life.ts';

describe('what becomes of an order', () => {
  const system = useSystem();
  const nats = useBroker();
  let node: OrderNode;
  let orderNo: string;

  // Its relay looks by itself once in ten minutes.
  before(async () => void (node = await system.orderNode({ EVENTS_URL: nats.broker.url })));
  beforeEach(async () => {
    orderNo = await order(system, node, 300);
    await hears('ORDER_CREATED');
  });

  /** Waits for an event of the order, and settles those before, as the service does in its own time. */
  async function hears(type: keyof typeof OrderEventType): Promise<OrderEvent> {
    let heard: OrderEvent | undefined;
    await until(`${type} is heard`, async () => {
      const found = (await storedEvents(nats.broker.url)).find((event) => event.id.startsWith(`${orderNo}.${type}`));
      heard = found && fromJsonString(OrderEventSchema, Buffer.from(found.data).toString());
      return heard !== undefined;
    });
    await system.orderDb.EventRecord.update({ status: 'SENT' }, { where: { order_no: orderNo, event_type: type } });
    assert.equal(heard!.type, OrderEventType[type]);
    assert.equal(heard!.orderNo, orderNo);
    assert.equal(heard!.userId, 300n);
    assert.equal(heard!.totalAmountCents, TOTAL);
    assert.equal(heard!.items.length, 1);
    return heard!;
  }

  it('is heard as soon as it is paid', async () => {
    const paymentNo = newPaymentNo();
    await pay(node, orderNo, paymentNo, TOTAL, 300);
    const { payment } = await hears('ORDER_PAID');
    assert.deepEqual([payment!.paymentNo, payment!.amountCents], [paymentNo, TOTAL]);
  });

  it('is heard as soon as it is cancelled, and again when a payment comes too late', async () => {
    await cancel(node, orderNo, 'too dear', 300);
    const { cancellation } = await hears('ORDER_CANCELLED');
    assert.deepEqual([cancellation!.reason, cancellation!.cancelledBy], ['too dear', CancelledBy.USER]);
    const paymentNo = newPaymentNo();
    await failsWith(pay(node, orderNo, paymentNo, TOTAL, 300), 'ORDER_NOT_PAYABLE');
    const { payment } = await hears('ORDER_PAYMENT_REFUSED');
    assert.deepEqual([payment!.paymentNo, payment!.amountCents], [paymentNo, TOTAL]);
  });
});
