import assert from 'node:assert/strict';
import { toJson } from '@bufbuild/protobuf';
import { OrderEventSchema } from '../../../gen/ordersystem/order/v1/order_event_pb.ts';
import { covers } from '../../../order-svc/outbox/event-stream.ts';
import { orderEvent } from '../../../order-svc/outbox/order-event.ts';
import { payloadOf } from './event-rig.ts';

describe('an event of the contract', () => {
  const read = (eventType: string, more: object = {}) => {
    const payload = { ...payloadOf('7'), ...more };
    const createTime = new Date('2026-11-30T12:00:00Z');
    const lease = { attempts: 1, leaseOwner: 'test' };
    const event = orderEvent({ eventId: `7.${eventType}`, orderNo: '7', eventType, payload, createTime, ...lease });
    return toJson(OrderEventSchema, event) as Record<string, unknown>;
  };
  const snapshot = {
    createTime: '2026-11-30T12:00:00Z',
    orderNo: '7',
    userId: '42',
    clientRequestId: 'key-7',
    items: [{ productId: '1', quantity: '2', title: 'Tea', unitPriceCents: '250' }],
    totalAmountCents: '500',
  };

  it('has the order as it was bought', () => {
    assert.deepEqual(read('ORDER_CREATED'), {
      eventId: '7.ORDER_CREATED',
      type: 'ORDER_EVENT_TYPE_ORDER_CREATED',
      ...snapshot,
    });
  });

  it('has the payment, when it is about one', () => {
    for (const type of ['ORDER_PAID', 'ORDER_PAYMENT_REFUSED']) {
      assert.deepEqual(read(type, { payment_no: 'p-1', amount_cents: '499' }), {
        eventId: `7.${type}`,
        type: `ORDER_EVENT_TYPE_${type}`,
        ...snapshot,
        payment: { paymentNo: 'p-1', amountCents: '499' },
      });
    }
  });

  it('has who cancelled the order, and why', () => {
    assert.deepEqual(read('ORDER_CANCELLED', { cancelled_by: 'USER', reason: 'too dear' })['cancellation'], {
      reason: 'too dear',
      cancelledBy: 'CANCELLED_BY_USER',
    });
    assert.deepEqual(read('ORDER_CANCELLED', { cancelled_by: 'EXPIRY' })['cancellation'], {
      cancelledBy: 'CANCELLED_BY_EXPIRY',
    });
  });

  it('does without what need not be there, and passes over what it does not know', () => {
    assert.equal(read('ORDER_CREATED', { client_request_id: undefined })['clientRequestId'], undefined);
    assert.deepEqual(read('ORDER_PAID', { payment_no: 'p-1' })['payment'], { paymentNo: 'p-1' });
    assert.deepEqual(read('ORDER_CANCELLED', { cancelled_by: 'TIDE' })['cancellation'], {});
    assert.deepEqual(read('ORDER_CREATED', { colour: 'red' }), read('ORDER_CREATED'));
  });

  it('is not made of what cannot be one', () => {
    assert.throws(() => read('STOCK_RESTORE'), /no event type STOCK_RESTORE/);
    assert.throws(() => read('UNSPECIFIED'), /no event type/);
    assert.throws(() => read('toString'), /no event type/);
    assert.throws(() => read('ORDER_CREATED', { user_id: undefined }), /user_id/);
    assert.throws(() => read('ORDER_CREATED', { total_amount_cents: '1.5' }), /total_amount_cents/);
    assert.throws(() => read('ORDER_CREATED', { items: [{ quantity: 'two' }] }), /quantity/);
  });
});

describe('a stream', () => {
  it('takes all events when its subjects do', () => {
    for (const subject of [
      'orders.events.*.*',
      'orders.events.>',
      'orders.>',
      '>',
      '*.*.*.*',
      '*.events.>',
      'orders.*.*.>',
    ]) {
      assert.ok(covers(subject, 'orders.events.*.*'), subject);
    }
    for (const subject of [
      'orders.events.*',
      'orders.events.*.*.*',
      'orders.events.ORDER_PAID.*',
      'other.>',
      'orders.events.*.*.>',
    ]) {
      assert.ok(!covers(subject, 'orders.events.*.*'), subject);
    }
  });
});
