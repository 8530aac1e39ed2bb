import assert from 'node:assert/strict';
import { as, newKey, product, useSystem } from '../support/system.ts';
import type { Known } from './cases.ts';
import { fuzz } from './fuzz.ts';
import { doors } from './victim.ts';

// FUZZ_SECONDS=600 FUZZ_SEED=1 npm test -- -g 'nearly good'
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 5);
const seed = Number(process.env['FUZZ_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

describe('requests that are nearly good', () => {
  const system = useSystem();
  for (const door of doors) {
    it(`get an answer of the contract, and change nothing that they should not: ${door}, seed ${seed}`, async function () {
      this.timeout((seconds + 60) * 1000);
      const node = await system.orderNode({ HTTP_LISTEN_ADDRESS: '127.0.0.1:0' });
      const products = await Promise.all([1_000_000n, 5n, 0n].map((available) => product(system, available)));
      const keys = Array.from({ length: 6 }, newKey);
      const orderNos: string[] = [];
      for (const clientRequestId of keys.slice(0, 3)) {
        const items = [{ productId: products[0]!, quantity: 1n }];
        orderNos.push((await node.client.createOrder({ clientRequestId, items }, as(1))).order!.orderNo);
      }
      const known: Known = { keys, orderNos, products };
      const addresses =
        door === 'gRPC'
          ? { order: node.address, stock: system.stockAddress }
          : { order: node.httpAddress!, stock: system.stockHttpAddress! };
      const answers = await fuzz({ door, addresses, known, seed, seconds });
      if (process.env['WIRE_FIGURES']) console.log(answers);
      assert.ok(answers['OK']! > 0 && answers['INVALID_REQUEST']! > 0, JSON.stringify(answers));
      assert.ok(await node.client.getOrder({ orderNo: orderNos[0]! }, as(1)));
    });
  }
});
