import assert from 'node:assert/strict';
import { Code, createClient } from '@connectrpc/connect';
import { createGrpcTransport as createForeignTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { HealthCheckResponse_ServingStatus as Status, Health } from '../../gen/health/v1/health_pb.ts';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { failsWith } from '../support/expect.ts';
import { startProcess } from '../support/processes.ts';
import { as, databaseUrlOf, newKey, product, useSystem } from '../support/system.ts';

describe('a process of order-svc that gets SIGTERM', () => {
  const system = useSystem();

  it('says that it is not ready, serves for DRAIN_DELAY_MS what still comes, then ends', async () => {
    const tea = await product(system, 5n);
    const service = startProcess('order-svc', {
      DATABASE_URL: databaseUrlOf(system.orderDb),
      STOCK_TARGET: system.stockAddress,
      DRAIN_DELAY_MS: '1500',
    });
    const baseUrl = `http://${await service.address}`;
    const sessionManager = new Http2SessionManager(baseUrl);
    const transport = createForeignTransport({ baseUrl, sessionManager });
    const [health, orders] = [createClient(Health, transport), createClient(OrderService, transport)];
    const buy = () =>
      orders.createOrder({ clientRequestId: newKey(), items: [{ productId: tea, quantity: 1n }] }, as(1));

    const watched = health.watch({ service: OrderService.typeName })[Symbol.asyncIterator]();
    const next = async () => ((await watched.next()).value as { status: Status }).status;
    assert.equal(await next(), Status.SERVING);
    service.child.kill('SIGTERM');
    assert.equal(await next(), Status.NOT_SERVING);
    const toldMs = performance.now();
    assert.equal((await health.check({ service: 'liveness' })).status, Status.SERVING);
    assert.equal((await buy()).replayed, false);
    const end = await failsWith(watched.next(), 'SERVICE_UNAVAILABLE');
    assert.equal(end.code, Code.Unavailable);
    assert.ok(performance.now() - toldMs > 1000);
    assert.equal(await service.ended, 0);
    sessionManager.abort();
  });
});

describe('order-svc', () => {
  const system = useSystem();

  it('is not ready while it holds no worker id, though its database answers', async () => {
    const node = await system.orderNode({ WORKER_LEASE_MS: '600', HEALTH_INTERVAL_MS: '20' });
    const baseUrl = `http://${node.address}`;
    const sessionManager = new Http2SessionManager(baseUrl);
    const health = createClient(Health, createForeignTransport({ baseUrl, sessionManager }));
    const watched = health.watch({})[Symbol.asyncIterator]();
    const next = async () => ((await watched.next()).value as { status: Status }).status;
    assert.equal(await next(), Status.SERVING);
    const { WorkerLease } = system.orderDb;
    await WorkerLease.update({ holder: 'another', expire_time: new Date(Date.now() + 3_600_000) }, { where: {} });
    assert.equal(await next(), Status.NOT_SERVING);
    await WorkerLease.update({ expire_time: new Date(0) }, { where: {} });
    assert.equal(await next(), Status.SERVING);
    sessionManager.abort();
  });
});
