import assert from 'node:assert/strict';
import { failsWith } from '../support/expect.ts';
import { availableOf, movementsOf, product, useSystem } from '../support/system.ts';

describe('Restore', () => {
  const system = useSystem();
  let last = 0;
  let tea: bigint;
  let orderNo: string;

  beforeEach(async () => {
    tea = await product(system, 5n);
    orderNo = `restore-${++last}`;
  });

  const deduct = () => system.stock.deduct({ orderNo, items: [{ productId: tea, quantity: 2n }] });
  const restore = () => system.stock.restore({ orderNo });
  const quantities = (answer: Awaited<ReturnType<typeof restore>>) =>
    answer.items.map((item) => [item.productId, item.quantity]);

  it('gives back what the ledger says, once, however often and at once it is asked', async () => {
    await deduct();
    const answers = await Promise.all(Array.from({ length: 10 }, restore));
    for (const answer of answers) assert.deepEqual(quantities(answer), [[tea, 2n]]);
    assert.equal(answers.filter((answer) => !answer.replayed).length, 1);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 2', 'RESTORE 2']);
    assert.equal(await availableOf(system, tea), 5n);
  });

  it('credits nothing when nothing was taken, and leaves a tombstone that refuses a late Deduct', async () => {
    assert.deepEqual(quantities(await restore()), []);
    assert.equal((await restore()).replayed, true);
    await failsWith(deduct(), 'ORDER_CLOSED');
    assert.deepEqual(await movementsOf(system, tea), []);
  });

  it('closes the order: a repeat of its Deduct is refused for good', async () => {
    await deduct();
    await restore();
    await failsWith(deduct(), 'ORDER_CLOSED');
    assert.equal(await availableOf(system, tea), 5n);
  });

  it('waits for a Deduct that is not committed yet, and gives it back', async () => {
    const held = system.stockSql.hold(/COMMIT;/);
    const taking = deduct();
    await held.reached;
    const looks = system.stockSql.seen(/FOR UPDATE/);
    const giving = restore();
    await looks;
    held.release();
    assert.equal((await taking).replayed, false);
    assert.deepEqual(quantities(await giving), [[tea, 2n]]);
    assert.equal(await availableOf(system, tea), 5n);
  });

  it('starts over when a Deduct comes in between its look and its tombstone', async () => {
    const held = system.stockSql.hold(/INSERT INTO t_stock_deduction \(order_no, state\)/);
    const giving = restore();
    await held.reached;
    await deduct();
    held.release();
    assert.deepEqual(quantities(await giving), [[tea, 2n]]);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 2', 'RESTORE 2']);
  });

  for (const [step, pattern] of Object.entries({
    header: /UPDATE t_stock_deduction/,
    ledger: /INSERT INTO t_stock_record/,
    increment: /UPDATE t_stock SET available = available \+/,
    commit: /COMMIT;/,
  })) {
    it(`gives it all or nothing back when the connection is lost after the ${step}`, async () => {
      await deduct();
      const lost = system.stockSql.cutAfter(pattern);
      assert.deepEqual(quantities(await restore()), [[tea, 2n]]);
      await lost;
      assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 2', 'RESTORE 2']);
    });
  }

  it('refuses an order_no that is none', () => failsWith(system.stock.restore({ orderNo: 'a b' }), 'INVALID_REQUEST'));
});
