import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type OrderNode, useSystem } from '../support/system.ts';
import { commands, users } from './commands.ts';
import { ModelShop } from './promise.ts';
import { RealShop } from './real-shop.ts';

// `FC_SEED=N` makes the same runs again, `FC_RUNS=N` makes so many; either takes the time that it takes.
const { FC_SEED, FC_RUNS } = process.env;
const LIMIT_MS = 15_000;

describe('all calls in any order, with faults', () => {
  const system = useSystem();
  let node: OrderNode;

  before(async () => (node = await system.orderNode({ STOCK_ATTEMPT_MS: '300' })));

  it('are answered as a small model of the promise says', async function () {
    // Shrinking takes longer than what it takes to pass.
    this.timeout(FC_RUNS === undefined ? 600_000 : 0);
    const endMs = (FC_SEED ?? FC_RUNS) ? Infinity : performance.now() + LIMIT_MS;
    let failed = false;
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (sequence) => {
        if (!failed && performance.now() > endMs) return;
        const [model, real] = [new ModelShop(), await RealShop.open(system, node)];
        failed = true;
        await fc.asyncModelRun(() => ({ model, real }), sequence);
        for (const user of users) {
          const found = await real.list(user, undefined, 3);
          assert.equal(found.length, model.list(user).length, `orders of user ${user}`);
        }
        assert.deepEqual(await real.available(), model.stock);
        await system.audit();
        failed = false;
      }),
      {
        numRuns: Number(FC_RUNS ?? 30),
        ...(FC_SEED !== undefined && { seed: Number(FC_SEED) }),
      },
    );
  });
});
