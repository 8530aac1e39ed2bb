import assert from 'node:assert/strict';
import { reapOnce } from '../../../order-svc/saga/reaper.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { failsWith } from '../../support/expect.ts';
import { untilWaiting } from '../../support/row-locks.ts';
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
import { holdNextOrder } from '../held-order.ts';

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

  it('finds the order when it was made and that was acknowledged to nobody', async () => {
    const lost = node.sql.cutAfter(PERSIST);
    const { order, replayed } = await buy();
    await lost;
    assert.equal(replayed, false);
    assert.deepEqual((await buy()).order, order);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
  });

  it('gives the stock back when the transaction never arrived', async () => {
    const lost = node.sql.cutBefore(PERSIST);
    await failsWith(buy(), 'SERVICE_UNAVAILABLE');
    await lost;
    await wasUndone();
  });

  it('makes nothing of a transaction that arrives when its attempt has been undone', async () => {
    const late = node.sql.orphan(PERSIST);
    await failsWith(buy(), 'SERVICE_UNAVAILABLE');
    const { replayed } = await buy();
    assert.equal(replayed, false);
    late.release();
    await late.done;
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'DEDUCT 1', 'RESTORE 1']);
    assert.equal(await system.orderDb.Order.count({ where: { client_request_id: Buffer.from(key) } }), 1);
  });

  it('waits for a transaction that is still at work when its connection is lost', async () => {
    const held = holdNextOrder(system, node);
    const gone = node.sql.orphan(PERSIST);
    gone.release();
    const asks = node.sql.hold(ASK_CLAIM);
    const call = buy();
    await asks.reached;
    await held.reached;
    asks.release();
    // The transaction waits for the item, and who asks for the claim waits for the transaction.
    await untilWaiting(system.orderDb.sequelize, 2);
    await held.release();
    assert.equal((await call).replayed, false);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
  });

  it('says ATTEMPT_EXPIRED when the transaction never arrived and the claim was reaped before it could be asked', async () => {
    const lost = node.sql.cutBefore(PERSIST);
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
    it(`leaves it to the claim when nobody can be asked about the transaction, which was ${made ? '' : 'not '}made`, async () => {
      const lost = made ? node.sql.cutAfter(PERSIST) : node.sql.cutBefore(PERSIST);
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
