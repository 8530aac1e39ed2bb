import assert from 'node:assert/strict';
import { until } from '../../support/expect.ts';
import { useSystem } from '../../support/system.ts';
import {
  age,
  cancelling,
  eventsOf,
  expiring,
  type Move,
  order,
  type Party,
  payP,
  payQ,
  someoneWaits,
  stateOf,
  told,
  pay,
  cancel,
  useParties,
} from './life.ts';

// A connection, or a process, is lost at any statement of what settles an order. Before COMMIT has arrived: nothing was done, and
// whoever comes next finds the order as it was. After: all was done, though nobody was told. On its way: whoever comes next waits for it.
// So the one whose connection was lost sends the same again, and learns which.
describe('what settles an order and loses its connection', () => {
  const system = useSystem();
  const parties = useParties(system);
  const LOST = ['SERVICE_UNAVAILABLE', 'failed'];

  async function newOrder(): Promise<string> {
    const orderNo = await order(system, parties.a.node);
    await age(system, orderNo);
    return orderNo;
  }
  const assertSettled = async (orderNo: string, winner: Move, loserLeaves: readonly string[] = []) => {
    assert.equal(await stateOf(system, orderNo), winner.state);
    assert.deepEqual(await eventsOf(system, orderNo), ['ORDER_CREATED', ...winner.events, ...loserLeaves].toSorted());
  };

  /** The expiry passes over the row until the server has noticed that the connection is lost; who pays or cancels waits for it. */
  const settle = async (move: Move, party: Party, orderNo: string) => {
    let outcome = await move.run(party, orderNo);
    while (move === expiring && outcome === 'nothing') outcome = await move.run(party, orderNo);
    return outcome;
  };

  for (const move of [payP, cancelling, expiring]) {
    for (const statement of move.statements) {
      for (const when of ['before', 'after'] as const) {
        it(`${move.name}: ${when} ${statement.source}: nothing was done, a repeat does it`, async () => {
          const [orderNo, { a }] = [await newOrder(), parties];
          const lost = when === 'before' ? a.node.sql.cutBefore(statement) : a.node.sql.cutAfter(statement);
          assert.ok(LOST.includes(await move.run(a, orderNo)));
          await lost;
          assert.equal(await stateOf(system, orderNo), 'WAIT_PAY');
          assert.deepEqual(await eventsOf(system, orderNo), ['ORDER_CREATED']);
          assert.equal(await settle(move, a, orderNo), 'done');
          await assertSettled(orderNo, move);
        });
      }
    }

    for (const next of [move, ...[payQ, cancelling, expiring].filter((other) => other !== move)]) {
      const what = next === move ? 'a repeat' : next.name;
      const [reason, ...leaves] = next.loses(move);

      it(`${move.name}: COMMIT never arrived: ${what} finds the order as it was`, async () => {
        const [orderNo, { a, b }] = [await newOrder(), parties];
        const lost = a.node.sql.cutBefore(/COMMIT;/);
        assert.ok(LOST.includes(await move.run(a, orderNo)));
        await lost;
        assert.equal(await settle(next, b, orderNo), 'done');
        await assertSettled(orderNo, next);
      });

      it(`${move.name}: COMMIT was made and acknowledged to nobody: ${what} finds it done`, async () => {
        const [orderNo, { a, b }] = [await newOrder(), parties];
        const lost = a.node.sql.cutAfter(/COMMIT;/);
        assert.ok(LOST.includes(await move.run(a, orderNo)));
        await lost;
        assert.equal(await next.run(b, orderNo), reason);
        await assertSettled(orderNo, move, leaves);
      });

      it(`${move.name}: COMMIT is on its way: ${what} ${next === expiring ? 'passes over it' : 'waits for it'}`, async () => {
        const [orderNo, { a, b }] = [await newOrder(), parties];
        const commit = a.node.sql.orphan(/COMMIT;/);
        assert.ok(LOST.includes(await move.run(a, orderNo)));
        await commit.reached;
        const late = next.run(b, orderNo);
        if (next === expiring) await late;
        else await until('it waits for the row', () => someoneWaits(system));
        commit.release();
        assert.equal(await late, reason);
        await until('COMMIT was made', async () => (await stateOf(system, orderNo)) === move.state);
        await assertSettled(orderNo, move, leaves);
      });
    }
  }

  describe('a refusal', () => {
    const REFUSED = 'ORDER_PAYMENT_REFUSED.P';
    const events = ['ORDER_CANCELLED', 'ORDER_CREATED', 'STOCK_RESTORE'];
    let orderNo: string;

    beforeEach(async () => {
      orderNo = await newOrder();
      assert.equal(await told(cancel(parties.a.node, orderNo)), 'done');
    });
    const payLate = () => payP.run(parties.a, orderNo);

    for (const statement of [/INSERT INTO t_payment/, /INSERT INTO t_event_record/, /COMMIT;/]) {
      it(`before ${statement.source}: nothing was done, a repeat does it`, async () => {
        const lost = parties.a.node.sql.cutBefore(statement);
        assert.equal(await payLate(), 'SERVICE_UNAVAILABLE');
        await lost;
        assert.deepEqual(await eventsOf(system, orderNo), events);
        assert.equal(await payLate(), 'ORDER_NOT_PAYABLE');
        assert.deepEqual(await eventsOf(system, orderNo), [...events, REFUSED].toSorted());
      });
    }

    it('whose COMMIT was acknowledged to nobody is told to a repeat, with one event', async () => {
      const lost = parties.a.node.sql.cutAfter(/COMMIT;/);
      assert.equal(await payLate(), 'SERVICE_UNAVAILABLE');
      await lost;
      assert.equal(await payLate(), 'ORDER_NOT_PAYABLE');
      assert.deepEqual(await eventsOf(system, orderNo), [...events, REFUSED].toSorted());
    });

    it('that many ask for at once is written once', async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, payLate));
      assert.deepEqual(new Set(answers), new Set(['ORDER_NOT_PAYABLE']));
      assert.deepEqual(await eventsOf(system, orderNo), [...events, REFUSED].toSorted());
    });

    it('of a payment that pays another order at the same time: one of the two has it', async () => {
      const other = await order(system, parties.b.node);
      const { a, b } = parties;
      const commit = a.node.sql.hold(/COMMIT;/);
      const refused = told(pay(a.node, orderNo, 'contested'));
      await commit.reached;
      const pays = told(pay(b.node, other, 'contested'));
      await until('it waits for the payment', () => someoneWaits(system));
      commit.release();
      assert.deepEqual([await refused, await pays], ['ORDER_NOT_PAYABLE', 'PAYMENT_NO_REUSED']);
      assert.equal(await stateOf(system, other), 'WAIT_PAY');
    });
  });
});
