import assert from 'node:assert/strict';
import {
  assertOrders,
  assertTaken,
  BATCHING,
  buy,
  CLAIMS,
  DEDUCTS,
  PERSISTS,
  together,
  useBatchingSystem,
  type Wish,
  wishes,
} from '../../support/batches.ts';
import { type OrderNode, product } from '../../support/system.ts';

/** The round trips of each transaction. */
const PERSIST = { 'the orders': PERSISTS };
const DEDUCT = {
  'the reading of the stock': /SELECT product_id, title, unit_price_cents, available FROM t_stock/,
  'the taking of the stock': DEDUCTS,
};

describe('many orders that are made together, when the connection is lost', () => {
  const system = useBatchingSystem();
  let node: OrderNode;
  let tea: bigint;
  let all: Wish[];

  before(async () => (node = await system.orderNode(BATCHING)));
  beforeEach(async () => {
    tea = await product(system, 100n);
    all = wishes(8, tea).all;
  });

  /** One order for each key in the end, whatever became of the first request. */
  async function retry(outcomes: string[]): Promise<void> {
    const repeats = await Promise.all(all.map((wish) => buy(node, wish)));
    assert.deepEqual(
      repeats,
      outcomes.map((outcome) => (outcome === 'made' ? 'replayed' : 'made')),
    );
    await assertOrders(system, all, all);
  }

  for (const lose of ['cutBefore', 'cutAfter'] as const) {
    const when = lose === 'cutBefore' ? 'before' : 'after';

    it(`${when} the claims: no stock is taken, and no claim stays`, async () => {
      const outcomes = await together(system, node, all, node.sql[lose](CLAIMS));
      const lost = outcomes.filter((outcome) => outcome === 'SERVICE_UNAVAILABLE').length;
      assert.ok(lost > 1, 'more than one was lost');
      const made = all.filter((_wish, i) => outcomes[i] === 'made');
      assert.equal(made.length + lost, 8);
      await assertOrders(system, all, made);
      await assertTaken(system, tea, made.length);
      await retry(outcomes);
      await assertTaken(system, tea, 8);
    });

    for (const [step, pattern] of Object.entries(PERSIST)) {
      it(`${when} ${step}: all are made or none, and what was taken for none is given back`, async () => {
        const lost = Promise.withResolvers<void>();
        node.edge.batchDeducts.push(async (forward) => {
          const answer = await forward();
          lost.resolve(node.sql[lose](pattern));
          return answer;
        });
        const outcomes = await together(system, node, all);
        await lost.promise;
        const failed = outcomes.filter((outcome) => outcome === 'SERVICE_UNAVAILABLE').length;
        if (lose === 'cutAfter') assert.equal(failed, 0);
        else assert.ok(failed > 1, 'more than one was lost');
        const made = all.filter((_wish, i) => outcomes[i] === 'made');
        assert.equal(made.length + failed, 8);
        await assertOrders(system, all, made);
        await assertTaken(system, tea, 8, failed);
        await retry(outcomes);
        await assertTaken(system, tea, 8 + failed, failed);
      });
    }

    for (const [step, pattern] of Object.entries(DEDUCT)) {
      it(`${when} ${step}: it is taken once, by a repeat that the callers do not notice`, async () => {
        const lost = Promise.withResolvers<void>();
        node.edge.batchDeducts.push((forward) => {
          lost.resolve(system.stockSql[lose](pattern));
          return forward();
        });
        const outcomes = await together(system, node, all);
        await lost.promise;
        assert.deepEqual(new Set(outcomes), new Set(['made']));
        await assertTaken(system, tea, 8);
        await retry(outcomes);
        await assertTaken(system, tea, 8);
      });
    }
  }
});
