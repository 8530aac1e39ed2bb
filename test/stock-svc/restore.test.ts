import assert from 'node:assert/strict';
import { failsWith } from '../support/expect.ts';
import { holdRows, untilLocked } from '../support/row-locks.ts';
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
    const { sequelize } = system.stockDb;
    const release = await holdRows(sequelize, 'SELECT 1 FROM t_stock WHERE product_id = ? FOR UPDATE', [tea]);
    const taking = deduct();
    await untilLocked(sequelize, 'SELECT 1 FROM t_stock_deduction WHERE order_no = ?', [orderNo]);
    const looks = system.stockSql.seen(/FOR UPDATE/);
    const giving = restore();
    await looks;
    await release();
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

  describe('of many orders at once', () => {
    let cup: bigint;
    let orderNos: string[];

    beforeEach(async () => {
      cup = await product(system, 100n);
      orderNos = Array.from({ length: 20 }, () => `restore-${++last}`);
      const some = orderNos.slice(0, 15);
      for (const one of some) await system.stock.deduct({ orderNo: one, items: [{ productId: cup, quantity: 3n }] });
    });
    const restoreAll = (numbers: readonly string[]) =>
      Promise.all(numbers.map((one) => system.stock.restore({ orderNo: one })));
    const pieces = (answers: Awaited<ReturnType<typeof restoreAll>>) =>
      answers.map((answer) => answer.items.map((item) => item.quantity));
    const expected = Array.from({ length: 20 }, (_, i) => (i < 15 ? [3n] : []));

    it('gives each what it took: what was taken, what was not, and what was given back before', async () => {
      const before = await system.stock.restore({ orderNo: orderNos[3]! });
      const answers = await restoreAll(orderNos);
      assert.deepEqual(pieces(answers), expected);
      assert.deepEqual(answers[3], { ...before, replayed: true });
      assert.equal(answers.filter((answer) => answer.replayed).length, 1);
      assert.equal(await availableOf(system, cup), 100n);
      await failsWith(
        system.stock.deduct({ orderNo: orderNos[19]!, items: [{ productId: cup, quantity: 1n }] }),
        'ORDER_CLOSED',
      );
    });

    it('answers one that comes twice as a Restore and its repeat', async () => {
      const answers = await restoreAll([...orderNos, ...orderNos]);
      assert.deepEqual(pieces(answers), [...expected, ...expected]);
      assert.equal(answers.filter((answer) => answer.replayed).length, 20);
      assert.equal(await availableOf(system, cup), 100n);
    });

    it('does the others when a Deduct of one comes in between the look and the tombstone', async () => {
      const late = orderNos[15]!;
      const held = system.stockSql.hold(new RegExp(`INSERT INTO t_stock_deduction \\(order_no, state\\).*${late}`));
      const giving = restoreAll(orderNos);
      await held.reached;
      await system.stock.deduct({ orderNo: late, items: [{ productId: cup, quantity: 3n }] });
      held.release();
      assert.deepEqual(pieces(await giving), expected.with(15, [3n]));
      assert.equal(await availableOf(system, cup), 100n);
    });

    for (const [step, pattern] of Object.entries({
      ledger: /INSERT INTO t_stock_record .*'RESTORE'/s,
      commit: /COMMIT;/,
    })) {
      it(`gives all or nothing back when the connection is lost after the ${step}, and all to the repeats`, async () => {
        const lost = system.stockSql.cutAfter(pattern);
        assert.deepEqual(pieces(await restoreAll(orderNos)), expected);
        await lost;
        assert.equal(await availableOf(system, cup), 100n);
      });
    }
  });

  it('refuses an order_no that is none', () => failsWith(system.stock.restore({ orderNo: 'a b' }), 'INVALID_REQUEST'));
});
