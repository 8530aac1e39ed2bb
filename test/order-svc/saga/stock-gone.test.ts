import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { failsWith, until } from '../../support/expect.ts';
import { loseAnswer } from '../../support/stock-edge.ts';
import {
  as,
  availableOf,
  movementsOf,
  newKey,
  type OrderNode,
  product,
  relay,
  useSystem,
} from '../../support/system.ts';

describe('an order while stock-svc is gone', () => {
  const system = useSystem();
  let node: OrderNode;
  let tea: bigint;

  beforeEach(async () => {
    node = await system.orderNode({ STOCK_ATTEMPT_MS: '300' });
    tea = await product(system, 9n);
  });

  const buy = (clientRequestId = newKey()) =>
    node.client.createOrder({ clientRequestId, items: [{ productId: tea, quantity: 1n }] }, as(1, { timeoutMs: 5000 }));
  const claims = () => system.orderDb.OrderClaim.count();
  const restores = () => system.orderDb.EventRecord.count({ where: { event_type: 'STOCK_RESTORE', status: 'WAIT' } });

  it('is refused at once when the circuit is open, and leaves nothing to give back', async () => {
    node.edge.dead = true;
    await failsWith(buy(), 'SERVICE_UNAVAILABLE');
    const sent = () => node.edge.seen.deducts + node.edge.seen.restores;
    // Some are let through as probes, and leave what nobody knows of.
    await until('one is refused of which nothing was sent and nothing stays', async () => {
      const before = [sent(), await restores()];
      const error = await failsWith(buy(), 'SERVICE_UNAVAILABLE');
      assert.equal(error.findDetails(RetryInfoSchema).length, 1);
      assert.equal(await claims(), 0);
      return isDeepStrictEqual([sent(), await restores()], before);
    });
    node.edge.dead = false;
    await until('the circuit closes', () => buy().then(Boolean, () => false));
    await relay(system);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
  });

  it('that was taken before the circuit opened is given back by an event', async () => {
    node.edge.deducts.push(async (forward, context) => {
      node.edge.dead = true;
      return loseAnswer(forward, context);
    });
    await failsWith(buy(), 'SERVICE_UNAVAILABLE');
    assert.ok(node.edge.seen.restores <= 1, 'the first Restore opened the circuit, and was not repeated');
    assert.deepEqual([await claims(), await restores()], [0, 1]);
    await relay(system);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'RESTORE 1']);
    assert.equal(await availableOf(system, tea), 9n);
  });
});
