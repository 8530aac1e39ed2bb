import assert from 'node:assert/strict';
import { reapOnce } from '../../../order-svc/saga/reaper.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { failsWith } from '../../support/expect.ts';
import {
  as,
  availableOf,
  expireClaims,
  movementsOf,
  newKey,
  type OrderNode,
  product,
  relay,
  useSystem,
} from '../../support/system.ts';

const PERSIST = /DELETE FROM t_order_claim WHERE order_no IN/;
const ASK_CLAIM = /SELECT order_no FROM t_order_claim WHERE order_no = .* FOR UPDATE/;

describe('what became of the transaction', () => {
  const system = useSystem();
  let node: OrderNode;
  let tea: bigint;
  let key: string;

  before(async () => (node = await system.orderNode()));
  beforeEach(async () => ([tea, key] = [await product(system, 1n), newKey()]));

  const buy = (clientRequestId: string | undefined = key) =>
    node.client.createOrder({ clientRequestId, items: [{ productId: tea, quantity: 1n }] }, as(1));

  async function wasUndone() {
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'RESTORE 1']);
    assert.equal(await system.orderDb.OrderClaim.count(), 0);
    assert.equal((await buy()).replayed, false, 'the same key makes the order later');
  }

  for (const when of ['before', 'after'] as const) {
    it(`gives the stock back when the connection is lost ${when} the order takes its claim’s place`, async () => {
      const lost = when === 'before' ? node.sql.cutBefore(PERSIST) : node.sql.cutAfter(PERSIST);
      await failsWith(buy(), 'SERVICE_UNAVAILABLE');
      await lost;
      await wasUndone();
    });
  }

  it('finds the order when COMMIT was made and acknowledged to nobody', async () => {
    const lost = node.sql.cutAfter(/COMMIT;/);
    const { order, replayed } = await buy();
    await lost;
    assert.equal(replayed, false);
    assert.deepEqual((await buy()).order, order);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
  });

  it('gives the stock back when COMMIT never arrived', async () => {
    const lost = node.sql.cutBefore(/COMMIT;/);
    await failsWith(buy(), 'SERVICE_UNAVAILABLE');
    await lost;
    await wasUndone();
  });

  it('waits for a COMMIT that is still on its way when its connection is lost', async () => {
    const commit = node.sql.orphan(/COMMIT;/);
    const asks = node.sql.seen(ASK_CLAIM);
    const call = buy();
    await asks;
    commit.release();
    assert.equal((await call).replayed, false);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
  });

  it('says ATTEMPT_EXPIRED when COMMIT never arrived and the claim was reaped before it could be asked', async () => {
    const lost = node.sql.cutBefore(/COMMIT;/);
    const asks = node.sql.hold(ASK_CLAIM);
    const call = buy();
    await lost;
    await asks.reached;
    await expireClaims(system);
    await reapOnce(system.orderDb, silentLogger);
    asks.release();
    await failsWith(call, 'ATTEMPT_EXPIRED');
    await relay(system);
    await wasUndone();
  });

  for (const made of [true, false]) {
    it(`leaves it to the claim when nobody can be asked about COMMIT, which was ${made ? '' : 'not '}made`, async () => {
      const lost = made ? node.sql.cutAfter(/COMMIT;/) : node.sql.cutBefore(/COMMIT;/);
      const call = buy();
      await lost;
      node.sql.refuse();
      await failsWith(call, 'SERVICE_UNAVAILABLE');
      node.sql.allow();
      await system.audit();
      assert.equal(await system.orderDb.OrderClaim.count(), made ? 0 : 1);
      await expireClaims(system);
      await reapOnce(system.orderDb, silentLogger);
      await relay(system);
      assert.equal(await availableOf(system, tea), made ? 0n : 1n);
      assert.equal((await buy()).replayed, made);
    });
  }
});
