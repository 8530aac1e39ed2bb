import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { useSystem } from '../support/system.ts';

const run = promisify(execFile);

describe('buf curl, which has no schema,', () => {
  const system = useSystem();
  let addresses: Record<'order' | 'stock', string>;
  before(async () => {
    addresses = { order: (await system.orderNode()).address, stock: system.stockAddress };
  });

  async function curl(...args: string[]): Promise<string> {
    const { stdout } = await run('buf', ['curl', '--protocol', 'grpc', '--http2-prior-knowledge', ...args]);
    return stdout;
  }

  for (const [name, { typeName: service, methods }] of [
    ['order', OrderService],
    ['stock', StockService],
  ] as const) {
    it(`lists the methods of ${name}-svc`, async () => {
      const listed = (await curl(`http://${addresses[name]}`, '--list-methods')).trim().split('\n');
      const expected = [
        ...['Check', 'List', 'Watch'].map((method) => `grpc.health.v1.Health/${method}`),
        'grpc.reflection.v1.ServerReflection/ServerReflectionInfo',
        'grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo',
        ...methods.map((method) => `${service}/${method.name}`).sort(),
      ];
      assert.deepEqual(listed, expected);
    });

    for (const version of ['grpc-v1', 'grpc-v1alpha']) {
      it(`asks ${name}-svc for its health, by reflection ${version}`, async () => {
        const url = `http://${addresses[name]}/grpc.health.v1.Health/Check`;
        const data = JSON.stringify({ service });
        assert.deepEqual(JSON.parse(await curl('--reflect-protocol', version, '-d', data, url)), { status: 'SERVING' });
      });
    }
  }

  it('calls them', async () => {
    const put = { products: [{ product_id: 990, title: 'Tea', unit_price_cents: 250 }] };
    await curl('-d', JSON.stringify(put), `http://${addresses.stock}/ordersystem.stock.v1.StockService/PutProducts`);
    const got = await curl(
      ...['-d', JSON.stringify({ product_ids: [990] })],
      `http://${addresses.stock}/ordersystem.stock.v1.StockService/GetStock`,
    );
    assert.equal((JSON.parse(got) as { stocks: { title: string }[] }).stocks[0]?.title, 'Tea');
    const sold = curl(
      ...['-H', 'x-user-id: 1', '-d', JSON.stringify({ items: [{ product_id: 990, quantity: 1 }] })],
      `http://${addresses.order}/ordersystem.order.v1.OrderService/CreateOrder`,
    );
    // Its exit status is the gRPC code × 8.
    await assert.rejects(sold, { code: 9 * 8 });
  });
});
