import assert from 'node:assert/strict';
import { connectOrderService } from '../../../client/clients.ts';
import { findBrokenRules } from '../../../ops/audit/audit.ts';
import type { Databases } from '../../../ops/audit/databases.ts';
import { reapOnce } from '../../../order-svc/saga/reaper.ts';
import { openDatabase } from '../../../runtime/db/database.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { until } from '../../support/expect.ts';
import { startProcess } from '../../support/processes.ts';
import { SqlProxy } from '../../support/sql-proxy.ts';
import {
  as,
  databaseUrlOf,
  expireClaims,
  newKey,
  type OrderNode,
  product,
  relay,
  useSystem,
} from '../../support/system.ts';

// What the audit reads of order-svc's database, and of stock-svc's.
const ORDER_LOOK = /FROM t_order_item WHERE/;
const STOCK_LOOK = /FROM t_stock_record WHERE/;

describe('the audit, while requests are at work', () => {
  const system = useSystem();
  let node: OrderNode;
  let tea: bigint;
  let proxies: { order: SqlProxy; stock: SqlProxy };
  let databases: Databases;

  before(async () => {
    node = await system.orderNode();
    tea = await product(system, 1_000n);
    const order = await SqlProxy.to(databaseUrlOf(system.orderDb));
    const stock = await SqlProxy.to(databaseUrlOf(system.stockDb));
    proxies = { order, stock };
    databases = { order: openDatabase({ url: order.url }), stock: openDatabase({ url: stock.url }) };
  });
  after(async () => {
    await databases.order.close();
    await databases.stock.close();
    await proxies.order.close();
    await proxies.stock.close();
  });

  const buy = (options = {}) =>
    node.client.createOrder({ clientRequestId: newKey(), items: [{ productId: tea, quantity: 1n }] }, as(1, options));

  /** An attempt whose stock is taken and that knows nothing of it: there are a claim and a header. */
  async function deducted() {
    const [reached, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    node.edge.deducts.push(async (forward) => {
      const answer = await forward();
      reached.resolve();
      await gate.promise;
      return answer;
    });
    const call = buy();
    call.catch(() => {});
    await reached.promise;
    return { call, answer: gate.resolve };
  }

  /** The audit, with something that happens before it takes the next look of a kind. */
  async function auditWith(proxy: SqlProxy, look: RegExp, happens: () => Promise<unknown>) {
    const held = proxy.hold(look);
    const audit = findBrokenRules(databases);
    await held.reached;
    await happens();
    held.release();
    return audit;
  }

  async function cancel(orderNo: string): Promise<void> {
    await node.client.cancelOrder({ orderNo }, as(1));
    await relay(system);
  }

  const stateOf = async (orderNo: string) =>
    (await system.stockDb.StockDeduction.findByPk(orderNo, { raw: true, rejectOnEmpty: true })).state;

  async function undo(): Promise<void> {
    await expireClaims(system);
    await reapOnce(system.orderDb, silentLogger);
    await relay(system);
  }

  it('takes no claim that becomes an order between its looks for broken', async () => {
    const { call, answer } = await deducted();
    const found = await auditWith(proxies.order, ORDER_LOOK, async () => {
      answer();
      await call;
    });
    assert.deepEqual(found, []);
  });

  it('takes no order that is made between its looks for one without stock', async () => {
    await buy();
    assert.deepEqual(await auditWith(proxies.order, ORDER_LOOK, () => buy()), []);
  });

  it('takes no attempt that is undone between its looks for a leak', async () => {
    const { answer } = await deducted();
    const found = await auditWith(proxies.order, ORDER_LOOK, undo);
    answer();
    assert.deepEqual(found, []);
  });

  it('takes no order for one without stock that is made and cancelled while it is looked into', async () => {
    let orderNo = '';
    const found = await auditWith(proxies.order, ORDER_LOOK, async () => {
      // Made after the first look at its stock: a suspicion. Cancelled, and its stock given back, before the second look at its order.
      orderNo = (await buy()).order!.orderNo;
      const again = proxies.order.hold(ORDER_LOOK);
      void again.reached.then(() => cancel(orderNo)).then(() => again.release());
    });
    assert.deepEqual(found, []);
    assert.equal(await stateOf(orderNo), 'RESTORED');
  });

  it('takes no order for one whose stock was given back that is cancelled right before the last look', async () => {
    let orderNo = '';
    const found = await auditWith(proxies.order, ORDER_LOOK, async () => {
      orderNo = (await buy()).order!.orderNo;
      const again = proxies.order.hold(ORDER_LOOK);
      void again.reached.then(() => {
        const last = proxies.stock.hold(STOCK_LOOK);
        void last.reached.then(() => cancel(orderNo)).then(() => last.release());
        again.release();
      });
    });
    assert.deepEqual(found, []);
    assert.equal(await stateOf(orderNo), 'RESTORED');
  });
});

describe('the audit, under load', function () {
  this.timeout(120_000);
  const system = useSystem();
  const ends: (() => unknown)[] = [];
  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  /** A process of order-svc, and a client of it. */
  async function start() {
    const service = startProcess('order-svc', {
      DATABASE_URL: databaseUrlOf(system.orderDb),
      STOCK_TARGET: system.stockAddress,
      CLAIM_MARGIN_MS: '0',
      REAPER_INTERVAL_MS: '20',
      RELAY_INTERVAL_MS: '20',
    });
    ends.push(
      () => service.ended,
      () => service.child.kill('SIGTERM'),
    );
    const { client, close } = connectOrderService(await service.address);
    ends.push(close);
    return client;
  }

  it('of two processes whose callers repeat, race, give up, pay and cancel, reports nothing', async () => {
    const tea = await product(system, 1_000_000n);
    const clients = [await start(), await start()];
    const seen = { made: 0, failed: 0, audits: 0 };
    let over = false;
    async function call(): Promise<void> {
      while (!over) {
        const clientRequestId = newKey();
        const items = [{ productId: tea, quantity: 1n }];
        // Half give up too early, each at another moment of the work.
        const timeoutMs = Math.random() < 0.5 ? 5_000 : 1 + Math.random() * 40;
        const calls = clients.map((client) => client.createOrder({ clientRequestId, items }, as(1, { timeoutMs })));
        const answers = await Promise.allSettled(calls);
        const made = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value.order!.orderNo] : []));
        seen.made += made.length;
        seen.failed += calls.length - made.length;
        // Both may have been told the same number: one cancels while the other pays.
        const ends = made.map((orderNo, i) => {
          if (i === 0) return clients[i]!.cancelOrder({ orderNo }, as(1));
          return clients[i]!.payOrder({ orderNo, paymentNo: `P-${orderNo}`, amountCents: 250n }, as(1));
        });
        await Promise.allSettled(ends);
      }
    }
    const callers = Array.from({ length: 16 }, call);
    try {
      while (seen.audits < 10 || seen.made < 100 || seen.failed < 100) {
        const databases = { order: system.orderDb.sequelize, stock: system.stockDb.sequelize };
        assert.deepEqual(await findBrokenRules(databases), []);
        seen.audits++;
      }
    } finally {
      over = true;
      await Promise.all(callers);
    }
    const count = (where: { status?: 'WAIT'; event_type?: string }) => system.orderDb.EventRecord.count({ where });
    await until('all is settled', async () => (await count({ status: 'WAIT' })) === 0, 30_000);
    await until('no claim is left', async () => (await system.orderDb.OrderClaim.count()) === 0, 30_000);
    assert.ok((await count({ event_type: 'ORDER_PAID' })) > 0 && (await count({ event_type: 'STOCK_RESTORE' })) > 0);
  });
});
