import assert from 'node:assert/strict';
import { createHandlerContext, type UnaryRequest } from '@connectrpc/connect';
import fc from 'fast-check';
import { OrderService } from '../../../gen/ordersystem/order/v1/order_service_pb.ts';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import {
  deadlineInterceptor,
  deadlinesOf,
  remainingMs,
  setTimeoutOf,
  timeoutOf,
} from '../../../runtime/rpc/deadline.ts';

function headerWith(timeout: string): Headers {
  return new Headers({ 'grpc-timeout': timeout });
}

describe('timeoutOf', () => {
  it('reads every unit of gRPC in milliseconds', () => {
    const units = { '2H': 7_200_000, '3M': 180_000, '4S': 4000, '5m': 5, '6000u': 6, '7000000n': 7, '00000008m': 8 };
    for (const [text, ms] of Object.entries(units)) assert.equal(timeoutOf(headerWith(text)), ms, text);
  });

  it('has nothing for a header that is missing or cannot be read', () => {
    assert.equal(timeoutOf(new Headers()), undefined);
    for (const text of ['', '5', 'm', '5s', '-5m', '1.5S', '123456789m', '5 m', '5m, 6m']) {
      assert.equal(timeoutOf(headerWith(text)), undefined, text);
    }
  });
});

describe('setTimeoutOf', () => {
  it('writes what timeoutOf reads: the whole milliseconds above, never below 0 nor over 8 digits', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, min: -1e12, max: 1e12 }), (ms) => {
        const header = new Headers();
        setTimeoutOf(header, ms);
        assert.equal(timeoutOf(header), Math.min(Math.max(Math.ceil(ms), 0), 99_999_999));
      }),
    );
  });

  it('takes the most there is for no end', () => {
    const header = headerWith('1m');
    setTimeoutOf(header, Infinity);
    assert.equal(header.get('grpc-timeout'), '99999999m');
  });
});

describe('deadlineInterceptor', () => {
  async function timeoutAfter(header: Headers): Promise<string | null> {
    await deadlineInterceptor(700)(() => Promise.resolve({} as never))({ header } as UnaryRequest);
    return header.get('grpc-timeout');
  }

  it('gives a call without a deadline the default', async () =>
    assert.equal(await timeoutAfter(new Headers()), '700m'));

  it("leaves a caller's own deadline, be it longer, shorter or over", async () => {
    for (const text of ['9S', '1m', '0m']) assert.equal(await timeoutAfter(headerWith(text)), text);
  });
});

describe('deadlinesOf', () => {
  const ofMethod = deadlinesOf(OrderService, {
    createOrder: { defaultMs: 1, maxMs: 2 },
    getOrder: { defaultMs: 3, maxMs: 4 },
    getOrderByClientRequestId: { defaultMs: 5, maxMs: 6 },
    listOrders: { defaultMs: 7, maxMs: 8 },
    payOrder: { defaultMs: 9, maxMs: 10 },
    cancelOrder: { defaultMs: 11, maxMs: 12 },
  });

  it('gives each method its own', () => {
    assert.deepEqual(ofMethod(OrderService.method.createOrder), { defaultMs: 1, maxMs: 2 });
    assert.deepEqual(ofMethod(OrderService.method.getOrderByClientRequestId), { defaultMs: 5, maxMs: 6 });
  });

  it('has 2 s, at most 10, for the methods of another service', () => {
    assert.deepEqual(ofMethod(StockService.method.restore), { defaultMs: 2_000, maxMs: 10_000 });
  });
});

describe('remainingMs', () => {
  const method = StockService.method.restore;
  const init = { service: StockService, method, protocolName: 'grpc', requestMethod: 'POST', url: '' };

  it('is what is left of the call, below 0 when it is over', () => {
    const context = createHandlerContext({ ...init, timeoutMs: 60_000 });
    const left = remainingMs(context);
    context.abort();
    assert.ok(left > 59_000 && left <= 60_000);
    assert.ok(remainingMs(createHandlerContext({ ...init, timeoutMs: -5 })) <= -5);
  });

  it('has no end for a call without a deadline', () => {
    assert.equal(remainingMs(createHandlerContext(init)), Infinity);
  });
});
