import assert from 'node:assert/strict';
import { type ConnectError, createClient } from '@connectrpc/connect';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { reasonOf } from '../../runtime/rpc/errors.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';
import { until } from '../support/expect.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { loseAnswer, StockEdge } from '../support/stock-edge.ts';
import { as, availableOf, databaseUrlOf, newKey, product, useSystem } from '../support/system.ts';

const ATTEMPT_MS = 1000;

describe('a process of order-svc whose stock-svc', () => {
  const system = useSystem();
  let started: ServiceProcess[];
  let closes: (() => unknown)[];
  let tea: bigint;

  beforeEach(async () => {
    [started, closes] = [[], []];
    tea = await product(system, 1000n);
  });
  afterEach(async () => {
    for (const close of closes) await close();
    for (const one of started) one.child.kill('SIGKILL');
    await Promise.all(started.map((one) => one.ended));
  });

  function start(name: 'order-svc' | 'stock-svc', env: Record<string, string>): ServiceProcess {
    const db = name === 'order-svc' ? system.orderDb : system.stockDb;
    const service = startProcess(name, { DATABASE_URL: databaseUrlOf(db), ...env });
    started.push(service);
    return service;
  }

  async function startOrderSvc(env: Record<string, string>) {
    const service = start('order-svc', env);
    const transport = createGrpcTransport({ target: await service.address });
    closes.push(() => transport.close());
    const client = createClient(OrderService, transport);
    /** How it went, and how long it took. */
    const buy = async (clientRequestId = newKey()) => {
      const startMs = performance.now();
      const items = [{ productId: tea, quantity: 1n }];
      const outcome = await client.createOrder({ clientRequestId, items }, as(1, { timeoutMs: 5000 })).then(
        () => 'made',
        (error: ConnectError) => reasonOf(error) ?? error.message,
      );
      return { outcome, tookMs: performance.now() - startMs };
    };
    const lineOf = (message: string) => service.lines.find((line) => line['message'] === message);
    return { service, buy, lineOf };
  }

  /** 20 who come together are told that there is nothing to be had. Returns the longest that one waited for it. */
  async function refusals(buy: () => Promise<{ outcome: string; tookMs: number }>): Promise<number> {
    const all = await Promise.all(Array.from({ length: 20 }, () => buy()));
    assert.deepEqual(new Set(all.map(({ outcome }) => outcome)), new Set(['SERVICE_UNAVAILABLE']));
    return Math.max(...all.map(({ tookMs }) => tookMs));
  }

  const losses = {
    'is killed': {
      lose: (one: ServiceProcess) => one.child.kill('SIGKILL'),
      bringBack: (_one: ServiceProcess, address: string) => start('stock-svc', { LISTEN_ADDRESS: address }).address,
    },
    'stands still': {
      lose: (one: ServiceProcess) => one.child.kill('SIGSTOP'),
      bringBack: (one: ServiceProcess) => one.child.kill('SIGCONT'),
    },
  };
  for (const [what, { lose, bringBack }] of Object.entries(losses)) {
    it(`${what} refuses at once, makes orders again when it is back, and loses no stock`, async () => {
      const stockSvc = start('stock-svc', {});
      const address = await stockSvc.address;
      const env = { STOCK_TARGET: address, STOCK_ATTEMPT_MS: String(ATTEMPT_MS), RELAY_INTERVAL_MS: '50' };
      const { buy, lineOf } = await startOrderSvc(env);
      assert.equal((await buy()).outcome, 'made');

      lose(stockSvc);
      const hit: ReturnType<typeof buy>[] = [];
      await until(
        'the log says that the circuit is open',
        () => (hit.push(buy()), lineOf('circuit opened') !== undefined),
        10_000,
        100,
      );
      for (const { outcome } of await Promise.all(hit)) assert.notEqual(outcome, 'made');
      // One of them may be the probe, and wait for its attempt.
      const waits = [await refusals(buy), await refusals(buy)];
      assert.ok(Math.min(...waits) < ATTEMPT_MS, `refused after ${waits.join(' and ')} ms`);

      await bringBack(stockSvc, address);
      await until('an order is made', async () => (await buy()).outcome === 'made');
      await until('the log says that the circuit is closed', () => lineOf('circuit closed') !== undefined);
      const where = { event_type: 'STOCK_RESTORE', status: 'WAIT' };
      const pending = () => system.orderDb.EventRecord.count({ where });
      await until('what nobody knew of is given back', async () => (await pending()) === 0, 15_000);
      assert.equal(await availableOf(system, tea), 998n, 'of the first and the last');
      assert.equal(await system.orderDb.OrderClaim.count(), 0);
    });
  }

  it('loses an answer says in its log how many attempts its Deduct took', async () => {
    const edge = await new StockEdge(system.stockAddress).listen();
    closes.push(() => edge.close());
    const { service, buy } = await startOrderSvc({ STOCK_TARGET: edge.address, STOCK_ATTEMPT_MS: String(ATTEMPT_MS) });
    edge.deducts.push(loseAnswer);
    assert.equal((await buy()).outcome, 'made');
    assert.equal((await buy()).outcome, 'made');
    const served = () => service.lines.filter((line) => line['message'] === 'served');
    await until('both are logged', () => served().length === 2);
    assert.deepEqual(
      served().map((line) => line['deduct_attempts']),
      [2, undefined],
    );
  });
});
