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
  useParties,
} from './life.ts';

// Two at one order, and what may happen between them:
//
// - The second comes to the deciding statement when the first has committed: it finds no row that is WAIT_PAY.
// - The second comes to it while the first has the row: it waits for the first's COMMIT, and then finds no row (the expiry does not
//   wait, it passes over what is locked).
// - The first rolls back, or its connection is lost before COMMIT: the second, who waited, finds the row, and wins.
//
// Who is first is who gets the row, and each of them can be.
describe('two at one order: exactly one wins', () => {
  const system = useSystem();
  const parties = useParties(system);

  const pairs: [Move, Move][] = [
    [payP, payP],
    [payP, payQ],
    [payP, cancelling],
    [cancelling, payP],
    [payP, expiring],
    [expiring, payP],
    [cancelling, expiring],
    [expiring, cancelling],
    [cancelling, cancelling],
    [expiring, expiring],
  ];

  async function newOrder(): Promise<string> {
    const orderNo = await order(system, parties.a.node);
    await age(system, orderNo);
    return orderNo;
  }

  /** The winner's state and events stand, and of the loser only what he was to leave. */
  async function assertWon(orderNo: string, winner: Move, loserLeaves: readonly string[]): Promise<void> {
    assert.equal(await stateOf(system, orderNo), winner.state);
    assert.deepEqual(await eventsOf(system, orderNo), ['ORDER_CREATED', ...winner.events, ...loserLeaves].toSorted());
  }

  for (const [winner, loser] of pairs) {
    const [reason, ...leaves] = loser.loses(winner);

    it(`${winner.name} before ${loser.name} decides`, async () => {
      const [orderNo, { a, b }] = [await newOrder(), parties];
      const held = b.node.sql.hold(loser.decides);
      const late = loser.run(b, orderNo);
      await held.reached;
      assert.equal(await winner.run(a, orderNo), 'done');
      held.release();
      assert.equal(await late, reason);
      await assertWon(orderNo, winner, leaves);
    });

    it(`${winner.name} with ${loser.name} at its heels`, async () => {
      const [orderNo, { a, b }] = [await newOrder(), parties];
      const { early, late } = await atItsHeels(orderNo, [winner, a], [loser, b], (commit) => commit.release());
      assert.equal(await early, 'done');
      assert.equal(await late, reason);
      await assertWon(orderNo, winner, leaves);
    });

    if (loser === expiring) continue;
    it(`${loser.name} at the heels of ${winner.name}, which never commits`, async () => {
      const [orderNo, { a, b }] = [await newOrder(), parties];
      const { early, late } = await atItsHeels(orderNo, [winner, a], [loser, b], () => a.node.sql.refuse());
      assert.ok(['SERVICE_UNAVAILABLE', 'failed'].includes(await early));
      a.node.sql.allow();
      assert.equal(await late, 'done');
      await assertWon(orderNo, loser, []);
    });
  }

  /** The first has the row and is about to commit, the second waits for it; the expiry does not wait, and is over. Then `end`. */
  async function atItsHeels(
    orderNo: string,
    [first, a]: [Move, Party],
    [second, b]: [Move, Party],
    end: (commit: { release(): void }) => void,
  ) {
    const commit = a.node.sql.hold(/COMMIT;/);
    const early = first.run(a, orderNo);
    await commit.reached;
    const late = second.run(b, orderNo);
    if (second === expiring) await late;
    else await until('the second waits for the row', () => someoneWaits(system));
    end(commit);
    return { early, late };
  }
});
