import assert from 'node:assert/strict';
import { RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { failsWith } from '../../support/expect.ts';
import { as, availableOf, movementsOf, newKey, type OrderNode, product, useSystem } from '../../support/system.ts';

const CLAIM = /INSERT INTO t_order_claim/;
const LOOK_AT_CLAIM = /SELECT order_no, user_id, fingerprint, expire_time/;
const LOOK_AT_ORDER = /FROM t_order WHERE client_request_id/;
const PERSIST = /DELETE FROM t_order_claim WHERE order_no IN/;

describe('repeats of one intent', () => {
  const system = useSystem();
  let a: OrderNode;
  let b: OrderNode;

  before(async () => {
    a = await system.orderNode();
    b = await system.orderNode();
  });

  const buy = (node: OrderNode, clientRequestId: string | undefined, productId: bigint, user = 1, timeoutMs = 5000) =>
    node.client.createOrder({ clientRequestId, items: [{ productId, quantity: 1n }] }, as(user, { timeoutMs }));

  it('replays the order, from any process, and touches no stock', async () => {
    const [key, tea] = [newKey(), await product(system, 5n)];
    const first = await buy(a, key, tea);
    assert.equal(first.replayed, false);
    for (const node of [a, b]) {
      const repeat = await buy(node, key, tea);
      assert.deepEqual(repeat.order, first.order);
      assert.equal(repeat.replayed, true);
    }
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
    assert.equal(a.edge.seen.deducts + b.edge.seen.deducts, 1);
  });

  it('makes one order of 40 requests at once at two processes, and gives it to each of them', async () => {
    const [key, tea] = [newKey(), await product(system, 50n)];
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => buy(i % 2 ? a : b, key, tea)));
    assert.equal(new Set(answers.map((answer) => answer.order!.orderNo)).size, 1);
    assert.equal(answers.filter((answer) => !answer.replayed).length, 1);
    assert.equal(await availableOf(system, tea), 49n);
  });

  it('T1 to T10: both pass the pre-check, both take stock, the loser gives it back and replays the winner', async () => {
    const [key, tea] = [newKey(), await product(system, 5n)];
    const claim = b.sql.hold(CLAIM);
    const loser = buy(b, key, tea);
    await claim.reached;
    const winner = await buy(a, key, tea);
    claim.release();
    assert.deepEqual(await loser, { ...winner, replayed: true });
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'DEDUCT 1', 'RESTORE 1']);
    assert.equal(await availableOf(system, tea), 4n);
    assert.equal(await system.orderDb.OrderClaim.count(), 0);
  });

  it('does not tell the loser that the last piece is sold: the winner has it for him', async () => {
    const [key, tea] = [newKey(), await product(system, 1n)];
    const claim = b.sql.hold(CLAIM);
    const loser = buy(b, key, tea);
    await claim.reached;
    const winner = await buy(a, key, tea);
    claim.release();
    assert.equal((await loser).order!.orderNo, winner.order!.orderNo);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
  });

  for (const where of ['another process', 'the same process']) {
    it(`waits for an attempt that is at work in ${where}, and takes no stock itself`, async () => {
      const [key, tea] = [newKey(), await product(system, 1n)];
      const persist = a.sql.hold(PERSIST);
      const first = buy(a, key, tea);
      await persist.reached;
      const other = where === 'the same process' ? a : b;
      const looks = other.sql.seen(other === a ? LOOK_AT_ORDER : LOOK_AT_CLAIM);
      const second = buy(other, key, tea);
      await looks;
      persist.release();
      assert.deepEqual(await second, { ...(await first), replayed: true });
      assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
    });
  }

  it('says REQUEST_IN_PROGRESS, and when to come back, to whoever cannot wait that long', async () => {
    const [key, tea] = [newKey(), await product(system, 1n)];
    const persist = a.sql.hold(PERSIST);
    const first = buy(a, key, tea);
    await persist.reached;
    const error = await failsWith(buy(b, key, tea, 1, 400), 'REQUEST_IN_PROGRESS');
    assert.equal(error.findDetails(RetryInfoSchema)[0]?.retryDelay?.nanos, 500_000_000);
    persist.release();
    assert.equal((await buy(b, key, tea)).order!.orderNo, (await first).order!.orderNo);
  });

  it('starts over when the attempt that it waited for has failed', async () => {
    const [key, tea] = [newKey(), await product(system, 1n)];
    const [deducts, refused] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    a.edge.deducts.push(async (forward) => {
      deducts.resolve();
      await refused.promise;
      return forward();
    });
    const first = buy(a, key, 10n ** 15n);
    // Its claim stands: seen on its way, it could still be overtaken by the other's.
    await deducts.promise;
    const looks = b.sql.seen(LOOK_AT_CLAIM);
    const second = b.client.createOrder(
      { clientRequestId: key, items: [{ productId: 10n ** 15n, quantity: 1n }] },
      as(1),
    );
    await looks;
    refused.resolve();
    await failsWith(first, 'PRODUCT_NOT_FOUND');
    await failsWith(second, 'PRODUCT_NOT_FOUND');
    assert.equal((await buy(b, key, tea)).replayed, false, 'the key is free for a cart that can be had');
  });

  it('gives one neutral answer to another user and to another cart, with the order made or in the making', async () => {
    const [key, tea, cup] = [newKey(), await product(system, 9n), await product(system, 9n)];
    const persist = a.sql.hold(PERSIST);
    const first = buy(a, key, tea);
    await persist.reached;
    const inFlight = [
      await failsWith(buy(b, key, tea, 2), 'CLIENT_REQUEST_ID_CONFLICT'),
      await failsWith(buy(b, key, cup), 'CLIENT_REQUEST_ID_CONFLICT'),
      await failsWith(buy(a, key, tea, 2), 'CLIENT_REQUEST_ID_CONFLICT'),
      await failsWith(buy(a, key, cup), 'CLIENT_REQUEST_ID_CONFLICT'),
    ];
    persist.release();
    await first;
    const later = [
      await failsWith(buy(b, key, tea, 2), 'CLIENT_REQUEST_ID_CONFLICT'),
      await failsWith(buy(b, key, cup), 'CLIENT_REQUEST_ID_CONFLICT'),
    ];
    const answers = new Set([...inFlight, ...later].map(({ message, details }) => JSON.stringify([message, details])));
    assert.equal(answers.size, 1);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
    assert.deepEqual(await movementsOf(system, cup), []);
  });

  it('takes every request without a key, or with an empty one, for a new intent', async () => {
    const tea = await product(system, 9n);
    const answers = await Promise.all([undefined, '', undefined, ''].map((key) => buy(a, key, tea)));
    assert.equal(new Set(answers.map((answer) => answer.order!.orderNo)).size, 4);
    assert.ok(answers.every((answer) => answer.order!.clientRequestId === undefined && !answer.replayed));
    assert.equal(await availableOf(system, tea), 5n);
  });
});
