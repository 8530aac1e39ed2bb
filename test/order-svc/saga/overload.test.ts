import assert from 'node:assert/strict';
import { Code, ConnectError, createClient, type Interceptor } from '@connectrpc/connect';
import { RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { OrderService } from '../../../gen/ordersystem/order/v1/order_service_pb.ts';
import { commonError } from '../../../runtime/rpc/errors.ts';
import { retryInterceptor } from '../../../runtime/rpc/retry.ts';
import { createGrpcTransport } from '../../../runtime/rpc/transport.ts';
import { failsWith } from '../../support/expect.ts';
import { loseAnswer } from '../../support/stock-edge.ts';
import { as, movementsOf, newKey, type OrderNode, product, useSystem } from '../../support/system.ts';

describe('order-svc with too much to do', () => {
  const system = useSystem();
  let node: OrderNode;
  let tea: bigint;

  // Room for one new order.
  before(async () => (node = await system.orderNode({ MAX_NEW_ORDERS: '1' })));
  beforeEach(async () => {
    tea = await product(system, 9n);
    Object.assign(node.edge.seen, { deducts: 0, restores: 0 });
  });

  const order = (clientRequestId: string) => ({ clientRequestId, items: [{ productId: tea, quantity: 1n }] });
  const buy = (clientRequestId = newKey()) =>
    node.client.createOrder(order(clientRequestId), as(1, { timeoutMs: 5000 }));
  const claims = () => system.orderDb.OrderClaim.count();

  /** An order that has all the room until it is released. */
  async function fill() {
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    node.edge.deducts.push(async (forward) => {
      reached.resolve();
      await gate.promise;
      return forward();
    });
    const key = newKey();
    const call = buy(key);
    await reached.promise;
    return { key, call, release: gate.resolve };
  }

  it('refuses a new order at once, and leaves nothing of it; the same key makes it later', async () => {
    const { call, release } = await fill();
    const key = newKey();
    const error = await failsWith(buy(key), 'OVERLOADED');
    assert.equal(error.code, Code.ResourceExhausted);
    assert.equal(error.findDetails(RetryInfoSchema).length, 1);
    assert.ok(Number(error.metadata.get('grpc-retry-pushback-ms')) >= 500);
    assert.equal(await claims(), 1, 'of the one at work');
    assert.equal(node.edge.seen.deducts, 1);
    release();
    await call;
    assert.equal((await buy(key)).replayed, false);
  });

  it('refuses one without a key as well', async () => {
    const { call, release } = await fill();
    await failsWith(buy(''), 'OVERLOADED');
    release();
    await call;
  });

  it('replays and reads meanwhile, and lets a repeat wait for the order that is at work', async () => {
    const key = newKey();
    const made = await buy(key);
    const filled = await fill();
    assert.deepEqual((await buy(key)).order, made.order);
    assert.deepEqual((await node.client.getOrder({ orderNo: made.order!.orderNo }, as(1))).order, made.order);
    const repeat = buy(filled.key);
    filled.release();
    assert.deepEqual(await repeat, { ...(await filled.call), replayed: true });
  });

  it('has room again after an attempt that failed', async () => {
    await failsWith(
      node.client.createOrder({ ...order(newKey()), items: [{ productId: 999_999n, quantity: 1n }] }, as(1)),
      'PRODUCT_NOT_FOUND',
    );
    assert.equal((await buy()).replayed, false);
  });

  it('is asked again by a client when it said to, and not before', async () => {
    const { call, release } = await fill();
    const refused = Promise.withResolvers<{ atMs: number; pushbackMs: number }>();
    let againMs = NaN;
    const watch: Interceptor = (next) => (request) => {
      againMs = performance.now();
      return next(request).catch((error: ConnectError) => {
        const pushbackMs = Number(error.metadata.get('grpc-retry-pushback-ms'));
        refused.resolve({ atMs: performance.now(), pushbackMs });
        throw error;
      });
    };
    const interceptors = [retryInterceptor({ mayRepeat: () => true }), watch];
    const transport = createGrpcTransport({ target: node.address, interceptors });
    const made = createClient(OrderService, transport).createOrder(order(newKey()), as(1, { timeoutMs: 10_000 }));
    const { atMs, pushbackMs } = await refused.promise;
    release();
    await call;
    assert.equal((await made).replayed, false);
    // Timers can be 1 ms early by this clock.
    assert.ok(againMs - atMs >= pushbackMs - 1, `told ${pushbackMs} ms, came again after ${againMs - atMs}`);
    transport.close();
  });

  const refuses = () => {
    const error = commonError('OVERLOADED', 'too much to do');
    error.metadata.set('grpc-retry-pushback-ms', '0');
    return Promise.reject(error);
  };

  it('passes on that stock-svc has too much to do; nothing was taken, so nothing is given back', async () => {
    node.edge.deducts.push(...Array.from({ length: 4 }, () => refuses));
    const error = await failsWith(buy(), 'OVERLOADED');
    assert.ok(error.findDetails(RetryInfoSchema).length > 0);
    assert.deepEqual(node.edge.seen, { deducts: 4, restores: 0 });
    assert.equal(await claims(), 0);
    assert.deepEqual(await movementsOf(system, tea), []);
  });

  it('gives back what an attempt may have taken before stock-svc had too much to do', async () => {
    const hasty = await system.orderNode({ STOCK_ATTEMPT_MS: '500' });
    hasty.edge.deducts.push(loseAnswer, refuses, refuses, refuses);
    const call = hasty.client.createOrder(order(newKey()), as(1, { timeoutMs: 10_000 }));
    await failsWith(call, 'SERVICE_UNAVAILABLE');
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'RESTORE 1']);
  });

  it('tells each caller apart from what is a message that is too long', async () => {
    const items = Array.from({ length: 200_000 }, () => ({ productId: tea, quantity: 1n }));
    const error = await node.client.createOrder({ items }, as(1)).catch((caught: unknown) => ConnectError.from(caught));
    assert.ok(error instanceof ConnectError);
    assert.equal(error.code, Code.ResourceExhausted);
    assert.equal(error.metadata.get('grpc-retry-pushback-ms'), null);
  });
});
