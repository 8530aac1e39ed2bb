import assert from 'node:assert/strict';
import { createClient } from '@connectrpc/connect';
import { Op } from 'sequelize';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';
import { until } from '../support/expect.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { StockEdge } from '../support/stock-edge.ts';
import { as, availableOf, databaseUrlOf, movementsOf, newKey, product, relay, useSystem } from '../support/system.ts';

describe('a process of order-svc', () => {
  const system = useSystem();
  let edge: StockEdge;
  let started: ServiceProcess[];
  let tea: bigint;

  beforeEach(async () => {
    edge = await new StockEdge(system.stockAddress).listen();
    started = [];
    tea = await product(system, 5n);
  });
  afterEach(async () => {
    for (const one of started) one.child.kill('SIGKILL');
    await Promise.all(started.map((one) => one.ended));
    await edge.close();
  });

  async function start(env: Record<string, string> = {}) {
    const service = startProcess('order-svc', {
      DATABASE_URL: databaseUrlOf(system.orderDb),
      STOCK_TARGET: edge.address,
      ...env,
    });
    started.push(service);
    const transport = createGrpcTransport({ target: await service.address });
    const client = createClient(OrderService, transport);
    const buy = (clientRequestId: string, options = {}) =>
      client.createOrder({ clientRequestId, items: [{ productId: tea, quantity: 1n }] }, as(1, options));
    return { service, buy, close: () => transport.close() };
  }

  /** Lets the next Deduct take the stock, and keeps the answer back. */
  function holdDeduct() {
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    edge.deducts.push(async (forward) => {
      const answer = await forward();
      reached.resolve();
      await gate.promise;
      return answer;
    });
    return { reached: reached.promise, release: gate.resolve };
  }

  it('that is killed between Deduct and persist leaves a claim; a retry elsewhere makes the one order', async () => {
    const victim = await start({ CLAIM_MARGIN_MS: '0' });
    const key = newKey();
    const deduct = holdDeduct();
    const lost = victim.buy(key, { timeoutMs: 1000 }).catch((error: unknown) => error);
    await deduct.reached;
    victim.service.child.kill('SIGKILL');
    assert.equal(await victim.service.ended, 'SIGKILL');
    deduct.release();
    assert.ok((await lost) instanceof Error);
    victim.close();
    assert.equal(await system.orderDb.OrderClaim.count(), 1);
    assert.equal(await availableOf(system, tea), 4n);
    await system.audit();

    const survivor = await start({ REAPER_INTERVAL_MS: '600000', RELAY_INTERVAL_MS: '600000' });
    assert.equal((await survivor.buy(key)).replayed, false);
    assert.equal((await survivor.buy(key)).replayed, true);
    survivor.close();
    await relay(system);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'DEDUCT 1', 'RESTORE 1']);
  });

  it('reaps and relays by itself', async () => {
    const victim = await start({ CLAIM_MARGIN_MS: '0' });
    const deduct = holdDeduct();
    victim.buy(newKey(), { timeoutMs: 500 }).catch(() => {});
    await deduct.reached;
    victim.service.child.kill('SIGKILL');
    deduct.release();
    victim.close();
    await start({ REAPER_INTERVAL_MS: '50', RELAY_INTERVAL_MS: '50' });
    await until('the stock is back', async () => (await availableOf(system, tea)) === 5n);
  });

  it('cancels by itself what is not paid in time, and gives its stock back', async () => {
    const { buy, close } = await start({
      ORDER_PAY_WINDOW_MS: '1000',
      EXPIRY_INTERVAL_MS: '50',
      RELAY_INTERVAL_MS: '50',
    });
    const { order } = await buy(newKey());
    close();
    assert.equal(await availableOf(system, tea), 4n);
    await until('the stock is back', async () => (await availableOf(system, tea)) === 5n);
    const row = await system.orderDb.Order.findOne({ where: { order_no: order!.orderNo }, rejectOnEmpty: true });
    assert.deepEqual([row.status, row.cancelled_by], ['CANCELLED', 'EXPIRY']);
    assert.ok(row.cancel_time!.getTime() - row.create_time!.getTime() >= 1000);
  });

  it('that gets SIGTERM ends what is in work, takes nothing new, and exits 0', async () => {
    const held = () => system.orderDb.WorkerLease.count({ where: { holder: { [Op.ne]: null } } });
    const heldBefore = await held();
    const { service, buy, close } = await start();
    const deduct = holdDeduct();
    const call = buy(newKey());
    await deduct.reached;
    service.child.kill('SIGTERM');
    await until('it says so', () => service.lines.some((line) => line['message'] === 'stopping'));
    deduct.release();
    assert.equal((await call).replayed, false);
    assert.equal(await service.ended, 0);
    await assert.rejects(buy(newKey(), { timeoutMs: 500 }));
    close();
    assert.equal(await held(), heldBefore, 'its worker id is free again');
  });

  it('that gets a second SIGTERM exits at once', async () => {
    const { service, buy, close } = await start();
    const deduct = holdDeduct();
    buy(newKey(), { timeoutMs: 3000 }).catch(() => {});
    await deduct.reached;
    service.child.kill('SIGTERM');
    await until('it says so', () => service.lines.some((line) => line['message'] === 'stopping'));
    service.child.kill('SIGTERM');
    assert.equal(await service.ended, 1);
    deduct.release();
    close();
    await system.orderDb.OrderClaim.update({ expire_time: new Date(0) }, { where: {} });
    await start({ REAPER_INTERVAL_MS: '50', RELAY_INTERVAL_MS: '50' });
    await until('the stock is back', async () => (await availableOf(system, tea)) === 5n);
  });

  it('logs JSON, with order_no and client_request_id on every line of a request, and no secret', async () => {
    const { service, buy, close } = await start();
    const key = newKey();
    const { order } = await buy(key);
    close();
    service.child.kill('SIGTERM');
    assert.equal(await service.ended, 0);
    const ofRequest = service.lines.filter((line) => line['rpc'] === 'CreateOrder');
    assert.equal(ofRequest.length, 1);
    for (const line of ofRequest) {
      assert.equal(line['order_no'], order!.orderNo);
      assert.equal(line['client_request_id'], key);
    }
    const password = new URL(databaseUrlOf(system.orderDb)).password;
    if (password !== '') assert.ok(!JSON.stringify(service.lines).includes(password));
  });
});

describe('a process with a wrong configuration', () => {
  it('names every wrong variable in one message, no value, and exits 1', async () => {
    const service = startProcess('order-svc', {
      DATABASE_URL: 'postgres://root:secret@nowhere/x',
      LISTEN_ADDRESS: '0.0.0.0:50051',
      LOG_LEVEL: 'loud',
      CLAIM_MARGIN_MS: '-1',
    });
    assert.equal(await service.ended, 1);
    for (const name of ['DATABASE_URL', 'LISTEN_ADDRESS', 'LOG_LEVEL', 'CLAIM_MARGIN_MS']) {
      assert.match(service.stderr(), new RegExp(`^  ${name}: `, 'm'));
    }
    assert.ok(!service.stderr().includes('secret'));
    assert.deepEqual(service.lines, []);
  });

  for (const service of ['order-svc', 'stock-svc'] as const) {
    it(`${service} does not listen beyond loopback, where anybody could name himself`, async () => {
      const refused = startProcess(service, {
        DATABASE_URL: 'mysql://root@127.0.0.1:1/x',
        LISTEN_ADDRESS: '0.0.0.0:0',
      });
      assert.equal(await refused.ended, 1);
      assert.match(refused.stderr(), /LISTEN_ADDRESS: must be a loopback address/);
    });
  }
});
