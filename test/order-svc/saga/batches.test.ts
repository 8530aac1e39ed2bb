import assert from 'node:assert/strict';
import { reapOnce } from '../../../order-svc/saga/reaper.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import {
  assertOrders,
  assertTaken,
  BATCHING,
  buy,
  claimsWith,
  DEDUCTS,
  gather,
  persistsWith,
  PERSISTS,
  together,
  useBatchingSystem,
  wishes,
} from '../../support/batches.ts';
import { availableOf, type OrderNode, product, relay } from '../../support/system.ts';

const LOOK_AT_CLAIM = /SELECT order_no, user_id, fingerprint, expire_time/;

describe('one of many orders that are made together', () => {
  const system = useBatchingSystem();
  let node: OrderNode;
  let other: OrderNode;
  let tea: bigint;

  before(async () => {
    node = await system.orderNode(BATCHING);
    other = await system.orderNode(BATCHING);
  });
  beforeEach(async () => {
    tea = await product(system, 100n);
    node.edge.seen.restores = 0;
  });

  /** What the others and the odd one were told. */
  const told = (others: string, odd: string) => [others, others, others, others, odd, others, others, others];

  /** Of the BatchDeducts so far: how many of each were refused, and how many were not. */
  function watchBatches(): { refused: number; taken: number }[] {
    const batches: { refused: number; taken: number }[] = [];
    const watch = async (forward: () => Promise<unknown>) => {
      node.edge.batchDeducts.push(watch);
      const answer = (await forward()) as { results: { result: { case?: string } }[] };
      const refused = answer.results.filter(({ result }) => result.case === 'failure').length;
      batches.push({ refused, taken: answer.results.length - refused });
      return answer;
    };
    node.edge.batchDeducts.push(watch);
    return batches;
  }
  afterEach(() => void (node.edge.batchDeducts.length = 0));

  it('is nothing special when all goes well: each step is taken together', async () => {
    const { all } = wishes(8, tea);
    const seen = [system.stockSql.seen(DEDUCTS), node.sql.seen(PERSISTS)];
    assert.deepEqual(await together(system, node, all), told('made', 'made'));
    await Promise.all(seen);
    await assertOrders(system, all, all);
    await assertTaken(system, tea, 8);
    assert.deepEqual(await Promise.all(all.map((wish) => buy(node, wish))), told('replayed', 'replayed'));
    await assertTaken(system, tea, 8);
  });

  const refusals: Record<string, () => Promise<object>> = {
    INSUFFICIENT_STOCK: async () => ({ quantity: 101n }),
    PRICE_CHANGED: async () => ({ unitPriceCents: 249n }),
    PRODUCT_NOT_FOUND: async () => ({ productId: 10n ** 15n }),
    TOTAL_TOO_LARGE: async () => ({ productId: await product(system, 2n, 999_999_999_999n), quantity: 2n }),
  };
  for (const [reason, change] of Object.entries(refusals)) {
    it(`is refused alone with ${reason}, and asks for no Restore; the others are made`, async () => {
      const { all, others } = wishes(8, tea, await change());
      const batches = watchBatches();
      assert.deepEqual(await together(system, node, all), told('made', reason));
      assert.ok(
        batches.some(({ refused, taken }) => refused === 1 && taken > 0),
        'it was refused as one of a batch',
      );
      assert.equal(node.edge.seen.restores, 0);
      await assertOrders(system, all, others);
      await assertTaken(system, tea, 7);
    });
  }

  it('gets what those before it have left: 5 pieces are for 5 of 8', async () => {
    const few = await product(system, 5n);
    const { all } = wishes(8, few);
    const outcomes = await together(system, node, all);
    assert.equal(outcomes.filter((outcome) => outcome === 'made').length, 5);
    assert.equal(outcomes.filter((outcome) => outcome === 'INSUFFICIENT_STOCK').length, 3);
    const made = all.filter((_wish, i) => outcomes[i] === 'made');
    await assertOrders(system, all, made);
    assert.equal(await availableOf(system, few), 0n);
    assert.equal(node.edge.seen.restores, 0);
  });

  it('waits for another process that has its key in flight; the claims of the others stand', async () => {
    const { all, odd } = wishes(8, tea);
    const persist = other.sql.hold(/DELETE FROM t_order_claim WHERE order_no IN/);
    const first = buy(other, odd);
    await persist.reached;
    const looks = node.sql.seen(LOOK_AT_CLAIM);
    const { each, outcomes } = await gather(system, node, all, node.sql.seen(claimsWith(odd)));
    await looks;
    await Promise.all(each.filter((_outcome, i) => all[i] !== odd));
    persist.release();
    assert.equal(await first, 'made');
    assert.deepEqual(await outcomes(), told('made', 'replayed'));
    await assertOrders(system, all, all);
    await assertTaken(system, tea, 8);
  });

  it('gives its stock back and replays when another process made its order meanwhile; the others are made', async () => {
    const { all, odd } = wishes(8, tea);
    const claims = node.sql.hold(claimsWith(odd));
    const persists = node.sql.seen(persistsWith(odd));
    const { outcomes } = await gather(system, node, all, claims.reached);
    assert.equal(await buy(other, odd), 'made');
    claims.release();
    assert.deepEqual(await outcomes(), told('made', 'replayed'));
    await persists;
    await assertOrders(system, all, all);
    await assertTaken(system, tea, 9, 1);
  });

  it('is ATTEMPT_EXPIRED, and its stock is given back, when its claim was reaped at work; the others are made', async () => {
    const { all, odd, others } = wishes(8, tea);
    const persists = node.sql.hold(persistsWith(odd));
    const { outcomes } = await gather(system, node, all);
    await persists.reached;
    const where = { client_request_id: Buffer.from(odd.key) };
    await system.orderDb.OrderClaim.update({ expire_time: new Date('2020-01-01') }, { where });
    await reapOnce(system.orderDb, silentLogger);
    persists.release();
    assert.deepEqual(await outcomes(), told('made', 'ATTEMPT_EXPIRED'));
    await relay(system);
    await assertOrders(system, all, others);
    await assertTaken(system, tea, 8, 1);
    assert.equal(await buy(node, odd), 'made');
    await assertOrders(system, all, all);
  });
});
