import assert from 'node:assert/strict';
import type { Client } from '@connectrpc/connect';
import { type Connected, connectOrderService } from '../../client/clients.ts';
import type { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { as, databaseUrlOf, newKey, product, useSystem } from '../support/system.ts';

const CALLERS = 8;

type Name = 'order-svc' | 'stock-svc';

describe('a rolling restart of two order-svc and two stock-svc', function () {
  this.timeout(120_000);
  const system = useSystem();
  const started: ServiceProcess[] = [];
  let orders: Connected<Client<typeof OrderService>> | undefined;
  let load: ReturnType<typeof startLoad> | undefined;

  afterEach(async () => {
    await load?.stop();
    orders?.close();
    for (const one of started) one.child.kill('SIGKILL');
    await Promise.all(started.map((one) => one.ended));
  });

  async function start(name: Name, env: Record<string, string>): Promise<ServiceProcess> {
    const process = startProcess(name, env);
    started.push(process);
    await process.address;
    return process;
  }

  async function startPair(name: Name, env: Record<string, string>) {
    const processes = await Promise.all([start(name, env), start(name, env)]);
    const addresses = await Promise.all(processes.map(({ address }) => address));
    return { name, env, processes, target: `ipv4:${addresses.join(',')}` };
  }

  it('under load loses no call and no order', async () => {
    const tea = await product(system, 1_000_000n);
    // Meanwhile callers find again what was restarted before: they look about once a second.
    const DRAIN_DELAY_MS = '2000';
    const stock = await startPair('stock-svc', { DRAIN_DELAY_MS, DATABASE_URL: databaseUrlOf(system.stockDb) });
    const order = await startPair('order-svc', {
      DRAIN_DELAY_MS,
      DATABASE_URL: databaseUrlOf(system.orderDb),
      STOCK_TARGET: stock.target,
    });
    orders = connectOrderService(order.target);
    load = startLoad(orders.client, tea);
    const { keys, lost } = load;

    for (const { name, env, processes } of [order, stock]) {
      for (const process of processes) {
        const before = keys.length;
        process.child.kill('SIGTERM');
        assert.equal(await process.ended, 0);
        await start(name, { ...env, LISTEN_ADDRESS: await process.address });
        assert.ok(keys.length > before, 'orders went on meanwhile');
      }
    }
    await load.stop();

    console.log(`      ${load.calls()} calls for ${keys.length} orders: ${lost.length} lost`);
    assert.deepEqual(lost, []);
    const found = await system.orderDb.Order.findAll({ attributes: ['client_request_id'], raw: true });
    assert.deepEqual(found.map((row) => String(row.client_request_id)).sort(), keys.sort());
  });
});

/** Callers that buy one thing after the other, each with a key of its own, and each once more, and ask what became of it. */
function startLoad(client: Client<typeof OrderService>, productId: bigint) {
  const keys: string[] = [];
  const lost: string[] = [];
  let [calls, over] = [0, false];

  async function call<T>(what: Promise<T>): Promise<T | undefined> {
    calls++;
    return what.catch((error: unknown) => void lost.push(String(error)));
  }

  async function buy(userId: number): Promise<void> {
    const clientRequestId = newKey();
    keys.push(clientRequestId);
    const request = { clientRequestId, items: [{ productId, quantity: 1n }] };
    const first = await call(client.createOrder(request, as(userId)));
    const again = await call(client.createOrder(request, as(userId)));
    const asked = await call(client.getOrderByClientRequestId({ clientRequestId }, as(userId)));
    if (!first || !again || !asked) return;
    assert.equal(again.order!.orderNo, first.order!.orderNo);
    assert.equal(asked.order!.orderNo, first.order!.orderNo);
  }

  const callers = Array.from({ length: CALLERS }, async (_, i) => {
    while (!over) await buy(i + 1);
  });

  /** Resolves when every call has ended. */
  async function stop(): Promise<void> {
    over = true;
    await Promise.all(callers);
  }

  return { keys, lost, calls: () => calls, stop };
}
