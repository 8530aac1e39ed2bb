import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import { until } from '../../support/expect.ts';
import { reasonOf } from '../../../runtime/rpc/errors.ts';
import { untilGivenUp } from '../../support/stock-edge.ts';
import { as, availableOf, movementsOf, newKey, type OrderNode, product, useSystem } from '../../support/system.ts';

const LOOK_AT_ORDER = /FROM t_order WHERE client_request_id/;
const CLAIM = /INSERT INTO t_order_claim/;
const LOOK_AT_CLAIM = /SELECT order_no, user_id, fingerprint, expire_time/;
const PERSIST = /DELETE FROM t_order_claim WHERE order_no IN/;

describe('work for a caller who is gone', () => {
  const system = useSystem();
  let node: OrderNode;
  let tea: bigint;
  let cup: bigint;

  const buy = (at: OrderNode, clientRequestId: string, productId: bigint, options: object = {}) =>
    at.client.createOrder({ clientRequestId, items: [{ productId, quantity: 1n }] }, as(1, options));

  beforeEach(async () => {
    // Room for one order at a time: a second one is let in when all work for the first has ended. Nothing ends by itself.
    node = await system.orderNode({ MAX_CALLS: '1', STOCK_ATTEMPT_MS: '30000' });
    [tea, cup] = [await product(system, 9n), await product(system, 9n)];
  });

  /** His call, whose outcome does not matter, and how to hang up. */
  function begin(key = newKey(), at = node) {
    const hangUp = new AbortController();
    const over = buy(at, key, tea, { signal: hangUp.signal, timeoutMs: 30_000 }).then(
      () => 'made',
      (error: unknown) => Code[ConnectError.from(error).code],
    );
    return { key, over, hangUp: () => hangUp.abort() };
  }

  /** Whether there is room for another one's order, which is then made. */
  const isFree = () =>
    buy(node, newKey(), cup).then(
      () => true,
      (error: unknown) => (assert.equal(reasonOf(error), 'OVERLOADED'), false),
    );
  const ended = () => until('the work has ended', isFree);
  const claims = () => system.orderDb.OrderClaim.count();

  it('ends after the pre-check: nothing is claimed', async () => {
    const held = node.sql.hold(LOOK_AT_ORDER);
    const gone = begin();
    await held.reached;
    assert.equal(await isFree(), false);
    gone.hangUp();
    assert.equal(await gone.over, 'Canceled');
    let claimed = false;
    const hisClaim = new RegExp(`${CLAIM.source}.*X'${Buffer.from(gone.key).toString('hex')}'`, 's');
    void node.sql.seen(hisClaim).then(() => (claimed = true));
    held.release();
    await ended();
    assert.equal(claimed, false);
    assert.equal(node.edge.seen.deducts, 1, "the other one's");
  });

  it('ends after the claim, which is taken back: stock-svc is not asked', async () => {
    const held = node.sql.hold(CLAIM);
    const gone = begin();
    await held.reached;
    gone.hangUp();
    assert.equal(await gone.over, 'Canceled');
    assert.equal(await isFree(), false);
    held.release();
    await ended();
    assert.equal(node.edge.seen.deducts, 1, "the other one's");
    assert.deepEqual([await claims(), await movementsOf(system, tea)], [0, []]);
  });

  it('ends in Deduct at once, without waiting for its answer, but for the compensation', async () => {
    const told = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    node.edge.deducts.push(async (forward, context) => {
      await forward();
      arrived.resolve();
      return untilGivenUp(context).finally(told.resolve);
    });
    const gone = begin();
    await arrived.promise;
    gone.hangUp();
    await told.promise;
    await ended();
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'RESTORE 1']);
    assert.deepEqual([await claims(), await availableOf(system, tea)], [0, 9n]);
  });

  it('that has begun to persist makes the order, which a repeat finds', async () => {
    const held = node.sql.hold(PERSIST);
    const gone = begin();
    await held.reached;
    gone.hangUp();
    assert.equal(await gone.over, 'Canceled');
    held.release();
    await ended();
    assert.equal((await buy(node, gone.key, tea)).replayed, true);
  });

  it('does not wait on for the attempt of another caller', async () => {
    const roomy = await system.orderNode({ MAX_CALLS: '2' });
    const slow = roomy.sql.hold(PERSIST);
    const first = begin(newKey(), roomy);
    await slow.reached;
    const looked = roomy.sql.seen(LOOK_AT_ORDER);
    const follower = begin(first.key, roomy);
    await looked;
    const refusedOrNot = () => buy(roomy, newKey(), cup).then(Boolean, () => false);
    assert.equal(await refusedOrNot(), false, 'both places are taken');
    follower.hangUp();
    await until('his place is free', refusedOrNot);
    slow.release();
    assert.equal(await first.over, 'made');
  });

  it('does not wait on for the attempt of another process, nor ask for it', async () => {
    const other = await system.orderNode();
    const slow = other.sql.hold(PERSIST);
    const first = begin(newKey(), other);
    await slow.reached;
    const looks = node.sql.seen(LOOK_AT_CLAIM);
    const follower = begin(first.key);
    await looks;
    assert.equal(await isFree(), false);
    follower.hangUp();
    await ended();
    slow.release();
    assert.equal(await first.over, 'made');
  });
});
