import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertOrders, BATCHING, buy, useBatchingSystem, type Wish } from '../../support/batches.ts';
import { availableOf, newKey, type OrderNode, product } from '../../support/system.ts';

/** Orders of some attempts and claims of others in one transaction. */
const MIXED = /DELETE FROM t_order_claim .*INSERT INTO t_order_claim/s;

describe('orders of some attempts that are written with the claims of others', () => {
  const system = useBatchingSystem();
  let node: OrderNode;
  let tea: bigint;

  before(async () => (node = await system.orderNode(BATCHING)));
  beforeEach(async () => (tea = await product(system, 100_000n)));

  /** Each caller buys one after the other until it has happened, and repeats what got no answer. */
  async function storm(happens: Promise<void>): Promise<{ all: Wish[]; repeats: number }> {
    const all: Wish[] = [];
    let repeats = 0;
    let happened = false;
    void happens.then(() => (happened = true));
    const caller = async (_: unknown, i: number) => {
      // Callers that begin together stay together, and no batch has work of both kinds.
      await sleep(3 * i);
      while (!happened) {
        const wish = { key: newKey(), productId: tea, quantity: 1n };
        all.push(wish);
        let outcome;
        while ((outcome = await buy(node, wish)) === 'SERVICE_UNAVAILABLE') repeats++;
        assert.match(outcome, /^(made|replayed)$/);
      }
    };
    await Promise.all(Array.from({ length: 16 }, caller));
    return { all, repeats };
  }

  const losses: Record<string, () => Promise<void>> = {
    'before they reach the server': () => node.sql.cutBefore(MIXED),
    'after the server has done them': () => node.sql.cutAfter(MIXED),
  };
  for (const [when, lose] of Object.entries(losses)) {
    it(`are all made, once, when the connection is lost ${when}`, async () => {
      const { all, repeats } = await storm(lose());
      assert.ok(repeats > 0, 'somebody had to repeat');
      await assertOrders(system, all, all);
      assert.equal(await availableOf(system, tea), 100_000n - BigInt(all.length));
    });
  }
});
