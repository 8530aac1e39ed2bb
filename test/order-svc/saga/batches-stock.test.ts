import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import type { BatchDeductResponse } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import {
  assertOrders,
  assertTaken,
  BATCHING,
  buy,
  gather,
  together,
  useBatchingSystem,
  type Wish,
  wishes,
} from '../../support/batches.ts';
import { type Behaviour, loseAnswer, loseRequest } from '../../support/stock-edge.ts';
import { type OrderNode, product } from '../../support/system.ts';

const ATTEMPTS = 4;
const away: Behaviour = () => Promise.reject(new ConnectError('away', Code.Unavailable));

describe('what became of the stock of many', () => {
  const system = useBatchingSystem();
  let node: OrderNode;
  let tea: bigint;
  let all: Wish[];

  before(async () => (node = await system.orderNode({ ...BATCHING, STOCK_ATTEMPT_MS: '300' })));
  beforeEach(async () => {
    node.edge.seen.restores = 0;
    tea = await product(system, 100n);
    all = wishes(8, tea).all;
  });
  // Each was a BatchDeduct: a behaviour that is left over was not called.
  afterEach(() => assert.equal(node.edge.batchDeducts.length, 0));

  for (const [what, behaviour] of Object.entries({ 'the answer': loseAnswer, 'the request': loseRequest, away })) {
    const first = what === 'away' ? 'stock-svc was away for' : `${what} was lost of`;
    it(`is taken once when ${first} the first attempt`, async () => {
      node.edge.batchDeducts.push(behaviour);
      assert.deepEqual(new Set(await together(system, node, all)), new Set(['made']));
      await assertOrders(system, all, all);
      await assertTaken(system, tea, 8);
      assert.equal(node.edge.seen.restores, 0);
    });
  }

  it('is asked back for the one that was refused after an attempt whose outcome nobody knows', async () => {
    const { all, others } = wishes(8, tea, { quantity: 101n });
    node.edge.batchDeducts.push(loseAnswer);
    const outcomes = await together(system, node, all);
    assert.deepEqual(outcomes, ['made', 'made', 'made', 'made', 'INSUFFICIENT_STOCK', 'made', 'made', 'made']);
    assert.equal(node.edge.seen.restores, 1);
    await assertOrders(system, all, others);
    await assertTaken(system, tea, 7);
  });

  it('is given back when no answer arrives at all, and a Deduct that arrives later takes nothing', async () => {
    const late: (() => Promise<unknown>)[] = [];
    node.edge.batchDeducts.push(
      (forward, context) => {
        late.push(forward);
        return loseRequest(forward, context);
      },
      ...Array.from({ length: ATTEMPTS - 1 }, () => loseAnswer),
    );
    const { outcomes } = await gather(system, node, all);
    assert.deepEqual(new Set(await outcomes()), new Set(['SERVICE_UNAVAILABLE']));
    await assertOrders(system, all, []);
    await assertTaken(system, tea, 8, 8);
    const { results } = (await late[0]!()) as BatchDeductResponse;
    const reasons = results.map(({ result }) => result.case === 'failure' && result.value.reason);
    assert.ok(reasons.length > 1);
    assert.deepEqual(new Set(reasons), new Set(['ORDER_CLOSED']));
    await assertTaken(system, tea, 8, 8);
    assert.deepEqual(new Set(await Promise.all(all.map((wish) => buy(node, wish)))), new Set(['made']));
    await assertOrders(system, all, all);
  });
});
