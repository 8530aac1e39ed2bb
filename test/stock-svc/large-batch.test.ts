import assert from 'node:assert/strict';
import { BATCHING, useBatchingSystem } from '../support/batches.ts';
import { as, newKey, type OrderNode } from '../support/system.ts';

describe('a batch of large orders', () => {
  const system = useBatchingSystem();
  let node: OrderNode;
  before(async () => (node = await system.orderNode(BATCHING)));

  it('is made as each of them would be alone', async () => {
    const ids = Array.from({ length: 100 }, (_, i) => BigInt(1000 + i));
    const products = ids.map((productId) => ({ productId, title: '茶'.repeat(256), unitPriceCents: 1n }));
    await system.stock.putProducts({ products });
    await system.stock.receiveStock({
      receiptNo: 'all',
      items: ids.map((productId) => ({ productId, quantity: 1000n })),
    });
    const items = ids.map((productId) => ({ productId, quantity: 1n }));
    const create = () => node.client.createOrder({ clientRequestId: newKey(), items }, as(1, { timeoutMs: 20_000 }));
    await create();
    const held = node.sql.hold(/INSERT INTO t_order_claim/);
    const first = create();
    await held.reached;
    const rest = Array.from({ length: 64 }, create);
    const results = await Promise.allSettled(rest).finally(() => held.release());
    await first;
    const failed = results.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
    assert.deepEqual([failed.length, ...new Set(failed)], [0]);
  });
});
