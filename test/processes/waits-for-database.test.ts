import assert from 'node:assert/strict';
import { createClient } from '@connectrpc/connect';
import { HealthCheckResponse_ServingStatus as Status, Health } from '../../gen/health/v1/health_pb.ts';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';
import { failsWith, until } from '../support/expect.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { SqlProxy } from '../support/sql-proxy.ts';
import { as, databaseUrlOf, useSystem } from '../support/system.ts';

for (const name of ['order-svc', 'stock-svc'] as const) {
  describe(`a process of ${name} whose database is away`, () => {
    const system = useSystem();
    const typeName = name === 'order-svc' ? OrderService.typeName : StockService.typeName;
    const databaseUrl = () => databaseUrlOf(name === 'order-svc' ? system.orderDb : system.stockDb);
    let service: ServiceProcess;
    let ends: (() => unknown)[];
    beforeEach(() => (ends = []));
    afterEach(async () => {
      for (const end of ends) await end();
      service.child.kill('SIGKILL');
      await service.ended;
    });

    /** Starts it, and waits until it listens. */
    async function start(url: string) {
      service = startProcess(name, { DATABASE_URL: url, HEALTH_INTERVAL_MS: '20' });
      await until('it listens', () => line('listening') !== undefined, 15_000);
      const transport = createGrpcTransport({ target: String(line('listening')!['address']) });
      ends.push(() => transport.close());
      const health = createClient(Health, transport);
      const [orders, stock] = [createClient(OrderService, transport), createClient(StockService, transport)];
      return {
        statusOf: async (asked: string) => (await health.check({ service: asked })).status,
        call: (): Promise<unknown> =>
          name === 'order-svc' ? orders.getOrder({ orderNo: '1' }, as(1)) : stock.getStock({ productIds: [] }),
      };
    }

    function line(message: string) {
      return service.lines.find((entry) => entry['message'] === message);
    }

    /** What its last failure to reach the database is called. */
    function failure(): string {
      const entry = service.lines.findLast((one) => one['message'] === 'waiting for the database');
      return (entry?.['err'] as Error | undefined)?.message ?? '';
    }

    it('waits for it, alive and not ready; serves when it is there; is not ready while it is away again', async () => {
      const sql = await SqlProxy.to(databaseUrl());
      ends.push(() => sql.close());
      sql.refuse();
      const { statusOf, call } = await start(sql.url);
      await until('it has tried', () => failure() !== '');
      for (const asked of ['', typeName]) assert.equal(await statusOf(asked), Status.NOT_SERVING);
      assert.equal(await statusOf('liveness'), Status.SERVING);
      assert.match((await failsWith(call(), 'SERVICE_UNAVAILABLE')).rawMessage, /starting/);
      assert.equal(line('started'), undefined);

      sql.allow();
      await service.address;
      for (const asked of ['', typeName, 'liveness']) assert.equal(await statusOf(asked), Status.SERVING);
      await failsWith(call(), name === 'order-svc' ? 'ORDER_NOT_FOUND' : 'INVALID_REQUEST');

      sql.refuse();
      await until('it is not ready', async () => (await statusOf(typeName)) === Status.NOT_SERVING);
      assert.equal(await statusOf('liveness'), Status.SERVING);
      sql.allow();
      await until('it is ready again', async () => (await statusOf(typeName)) === Status.SERVING);
    });

    for (const [what, wrong, message] of [
      ['a wrong password', (url: URL) => (url.password = 'hunter2'), /Access denied/],
      ['an unknown database', (url: URL) => (url.pathname = '/nowhere'), /Unknown database/],
    ] as const) {
      it(`says so each time when it is ${what}, with no secret, and exits 0 when it is told to`, async () => {
        const url = new URL(databaseUrl());
        wrong(url);
        await start(url.href);
        await until('it has tried again', () => service.lines.some((one) => one['attempt'] === 2));
        assert.match(failure(), message);
        assert.ok(!JSON.stringify(service.lines).includes('hunter2'));
        service.child.kill('SIGTERM');
        assert.equal(await service.ended, 0);
      });
    }

    it('answers for itself also while another process migrates, however long that takes', async () => {
      const { sequelize } = name === 'order-svc' ? system.orderDb : system.stockDb;
      await sequelize.transaction(async (transaction) => {
        // Of this one connection, until it is released.
        await sequelize.query(`DO GET_LOCK(CONCAT('migrate:', LEFT(DATABASE(), 48)), 0)`, { transaction });
        const { statusOf } = await start(databaseUrl());
        assert.equal(await statusOf(typeName), Status.NOT_SERVING);
        assert.equal(await statusOf('liveness'), Status.SERVING);
        assert.equal(line('started'), undefined);
        await sequelize.query(`DO RELEASE_LOCK(CONCAT('migrate:', LEFT(DATABASE(), 48)))`, { transaction });
        await service.address;
        assert.equal(await statusOf(typeName), Status.SERVING);
      });
    });
  });
}
