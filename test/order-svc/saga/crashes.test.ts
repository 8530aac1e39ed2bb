import assert from 'node:assert/strict';
import { connectOrderService } from '../../../client/clients.ts';
import { openOrderDb } from '../../../order-svc/db/models.ts';
import { reapOnce } from '../../../order-svc/saga/reaper.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { failsWith, until } from '../../support/expect.ts';
import { untilGivenUp } from '../../support/stock-edge.ts';
import { SqlProxy } from '../../support/sql-proxy.ts';
import {
  as,
  availableOf,
  databaseUrlOf,
  expireClaims,
  movementsOf,
  newKey,
  type OrderNode,
  product,
  relay,
  useSystem,
} from '../../support/system.ts';

const PERSIST = /DELETE FROM t_order_claim WHERE order_no IN/;
const LOOK_AT_CLAIM = /SELECT order_no, user_id, fingerprint, expire_time/;

describe('attempts that are broken off', () => {
  const system = useSystem();
  let survivor: OrderNode;
  let tea: bigint;
  let key: string;

  before(async () => (survivor = await system.orderNode()));
  beforeEach(async () => ([tea, key] = [await product(system, 2n), newKey()]));

  const buy = (node: OrderNode) =>
    node.client.createOrder({ clientRequestId: key, items: [{ productId: tea, quantity: 1n }] }, as(1));
  const reap = () => reapOnce(system.orderDb, silentLogger);
  const restores = () => system.orderDb.EventRecord.count({ where: { event_type: 'STOCK_RESTORE', status: 'WAIT' } });

  /** Starts an attempt at a node of its own, which is gone once stock-svc has done what `forward` says. */
  async function crash(when: 'before Deduct' | 'after Deduct'): Promise<void> {
    const victim = await system.orderNode();
    const gone = Promise.withResolvers<void>();
    victim.edge.deducts.push(async (forward, context) => {
      if (when === 'after Deduct') await forward();
      victim.crash();
      gone.resolve();
      return untilGivenUp(context);
    });
    buy(victim).catch(() => {});
    await gone.promise;
  }

  for (const when of ['before Deduct', 'after Deduct'] as const) {
    it(`leaves a claim when the process is gone ${when}; the reaper and the relay undo it`, async () => {
      await crash(when);
      assert.equal(await system.orderDb.OrderClaim.count(), 1);
      await reap();
      assert.equal(await restores(), 0, 'a claim whose time has not come is left alone');
      await expireClaims(system);
      await reap();
      assert.deepEqual([await system.orderDb.OrderClaim.count(), await restores()], [0, 1]);
      await relay(system);
      assert.equal(await availableOf(system, tea), 2n);
      assert.equal((await buy(survivor)).replayed, false);
    });
  }

  it('is taken over by a repeat once its claim has expired', async () => {
    await crash('after Deduct');
    const looks = survivor.sql.seen(LOOK_AT_CLAIM);
    const repeat = buy(survivor);
    await looks;
    await expireClaims(system);
    assert.equal((await repeat).replayed, false);
    await relay(system);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'DEDUCT 1', 'RESTORE 1']);
  });

  it('makes no order when its claim was reaped while its owner was still at work', async () => {
    const slow = await system.orderNode();
    const persist = slow.sql.hold(PERSIST);
    const call = buy(slow);
    await persist.reached;
    await expireClaims(system);
    await reap();
    persist.release();
    await failsWith(call, 'ATTEMPT_EXPIRED');
    await relay(system);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'RESTORE 1']);
    assert.equal(await system.orderDb.Order.count({ where: { client_request_id: Buffer.from(key) } }), 0);
  });

  it('makes no order when its stock was given back before its Deduct arrived', async () => {
    const slow = await system.orderNode();
    slow.edge.deducts.push(async (forward) => {
      await expireClaims(system);
      await reap();
      await relay(system);
      return forward();
    });
    await failsWith(buy(slow), 'ATTEMPT_EXPIRED');
    assert.deepEqual(await movementsOf(system, tea), []);
  });

  it('replays the order that a repeat made while the owner was at work', async () => {
    const slow = await system.orderNode();
    const persist = slow.sql.hold(PERSIST);
    const call = buy(slow);
    await persist.reached;
    await expireClaims(system);
    const { order } = await buy(survivor);
    persist.release();
    assert.equal((await call).order!.orderNo, order!.orderNo);
    await relay(system);
    assert.equal(await availableOf(system, tea), 1n);
  });

  it('is reaped once by two reapers at once', async () => {
    await crash('after Deduct');
    await expireClaims(system);
    const proxies = [
      await SqlProxy.to(databaseUrlOf(system.orderDb)),
      await SqlProxy.to(databaseUrlOf(system.orderDb)),
    ] as const;
    const dbs = proxies.map((proxy) => openOrderDb({ url: proxy.url }));
    const first = proxies[0].hold(/DELETE FROM t_order_claim/);
    const second = proxies[1].seen(/FOR UPDATE/);
    const passes = [reapOnce(dbs[0]!, silentLogger)];
    await first.reached;
    passes.push(reapOnce(dbs[1]!, silentLogger));
    await second;
    first.release();
    await Promise.all(passes);
    assert.deepEqual([await system.orderDb.OrderClaim.count(), await restores()], [0, 1]);
    await relay(system);
    await Promise.all(dbs.map((db) => db.sequelize.close()));
    await Promise.all(proxies.map((proxy) => proxy.close()));
  });

  it('leaves no claim behind when the answer to its INSERT was lost', async () => {
    const lost = survivor.sql.cutAfter(/INSERT INTO t_order_claim/);
    await failsWith(buy(survivor), 'SERVICE_UNAVAILABLE');
    await lost;
    await until('no claim', async () => (await system.orderDb.OrderClaim.count()) === 0);
    assert.equal((await buy(survivor)).replayed, false);
  });

  it('touches nothing when the database is away, and works when it is back', async () => {
    const cut = await system.orderNode();
    cut.sql.refuse();
    await failsWith(buy(cut), 'SERVICE_UNAVAILABLE');
    assert.equal(cut.edge.seen.deducts, 0);
    cut.sql.allow();
    // As callers do: with retries. The pool may still fail the next request with a connection that it had begun to open.
    const { client, close } = connectOrderService(cut.address);
    const answer = await client.createOrder({ clientRequestId: key, items: [{ productId: tea, quantity: 1n }] }, as(1));
    assert.equal(answer.replayed, false);
    close();
  });
});
