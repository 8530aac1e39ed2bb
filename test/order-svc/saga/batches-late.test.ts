import assert from 'node:assert/strict';
import {
  assertOrders,
  assertTaken,
  BATCHING,
  buy,
  claimsWith,
  gather,
  persistsWith,
  useBatchingSystem,
  wishes,
} from '../../support/batches.ts';
import { until } from '../../support/expect.ts';
import { movementsOf, newKey, type OrderNode, product } from '../../support/system.ts';

/** As many as GroupCommit has for Deduct: 1, and 8 to spare. */
const LANES = 9;

describe('a caller whose deadline passes while his order waits with others', () => {
  const system = useBatchingSystem();
  let node: OrderNode;
  let tea: bigint;

  const env = { ...BATCHING, STOCK_ATTEMPT_MS: '5000' };
  before(async () => (node = await system.orderNode(env)));
  beforeEach(async () => {
    tea = await product(system, 100n);
    node.edge.seen.deducts = 0;
  });

  const hurried = { hurried: true };
  const noClaims = () => until('the claim is gone', async () => (await system.orderDb.OrderClaim.count()) === 0);
  const told = ['made', 'made', 'made', 'made', 'DEADLINE_EXCEEDED', 'made', 'made', 'made'];

  it('in a batch of claims: takes no stock, and leaves nothing behind', async () => {
    const { all, odd, others } = wishes(8, tea, hurried);
    const claims = node.sql.hold(claimsWith(odd));
    const { each, outcomes } = await gather(system, node, all, claims.reached);
    assert.equal(await each[all.indexOf(odd)], 'DEADLINE_EXCEEDED');
    claims.release();
    assert.deepEqual(await outcomes(), told);
    await noClaims();
    await assertOrders(system, all, others);
    await assertTaken(system, tea, 7);
    assert.equal(node.edge.seen.deducts, 7 + 1, 'of the others, and of the one ahead');
    assert.equal(await buy(node, odd), 'made');
  });

  it('in a batch of Deducts: his stock is given back', async () => {
    const { all, odd, others } = wishes(8, tea, hurried);
    const gate = Promise.withResolvers<void>();
    node.edge.batchDeducts.push(async (forward) => {
      const answer = await forward();
      await gate.promise;
      return answer;
    });
    const { each, outcomes } = await gather(system, node, all);
    assert.equal(await each[all.indexOf(odd)], 'DEADLINE_EXCEEDED');
    gate.resolve();
    assert.deepEqual(await outcomes(), told);
    await noClaims();
    await assertOrders(system, all, others);
    await assertTaken(system, tea, 8, 1);
    assert.equal(await buy(node, odd), 'made');
  });

  it('in a batch of orders: his order is made with the others, and a repeat finds it', async () => {
    const { all, odd } = wishes(8, tea, hurried);
    const persists = node.sql.hold(persistsWith(odd));
    const { each, outcomes } = await gather(system, node, all);
    await persists.reached;
    assert.equal(await each[all.indexOf(odd)], 'DEADLINE_EXCEEDED');
    persists.release();
    assert.deepEqual(await outcomes(), told);
    await assertOrders(system, all, all);
    assert.equal(await buy(node, odd), 'replayed');
    await assertTaken(system, tea, 8);
  });

  it('behind batches that are all stuck: he leaves the queue, and stock-svc is never asked', async () => {
    const cup = await product(system, 1n);
    const gate = Promise.withResolvers<void>();
    const stuck: Promise<string>[] = [];
    for (let lane = 0; lane < LANES; lane++) {
      const reached = Promise.withResolvers<void>();
      node.edge.deducts.push(async (forward) => {
        reached.resolve();
        await gate.promise;
        return forward();
      });
      stuck.push(buy(node, { key: newKey(), productId: tea, quantity: 1n }));
      await reached.promise;
    }
    const late = { key: newKey(), productId: cup, quantity: 1n, hurried: true };
    const told = buy(node, late);
    stuck.push(buy(node, { key: newKey(), productId: tea, quantity: 1n }));
    assert.equal(await told, 'DEADLINE_EXCEEDED');
    gate.resolve();
    assert.deepEqual(new Set(await Promise.all(stuck)), new Set(['made']));
    await noClaims();
    assert.equal(node.edge.seen.deducts, LANES + 1, 'of those that were stuck, and of the one behind him');
    await assertTaken(system, tea, LANES + 1);
    assert.deepEqual(await movementsOf(system, cup), []);
    await assertOrders(system, [late], []);
    assert.equal(await buy(node, late), 'made');
  });
});
