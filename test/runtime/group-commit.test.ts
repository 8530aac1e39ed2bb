import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Lanes } from '../../runtime/group-commit.ts';
import { nextTurn } from '../../runtime/next-turn.ts';
import { answersTo, answerTo, rejected, Rig, RolledBack } from './group-commit-rig.ts';

describe('GroupCommit', () => {
  // No time passes here: no spare lane opens, and no timer of what still waits outlives the test.
  beforeEach(() => void mock.method(globalThis, 'setTimeout', () => 0));
  afterEach(() => mock.restoreAll());

  it('sends one caller alone at once, in the next turn', async () => {
    const rig = new Rig();
    rig.submit('a');
    await turn();
    assert.deepEqual(rig.sent, ['a']);
    await rig.jobs[0]!.done();
    assert.deepEqual(rig.answers, answersTo('a'));
  });

  it('sends what is submitted in this turn before anything that waits for the next turn goes on', async () => {
    const rig = new Rig();
    const sentBefore = nextTurn().then(() => [...rig.sent]);
    await Promise.resolve();
    rig.submit('a');
    assert.deepEqual(await sentBefore, ['a']);
  });

  it('sends what gathers while a batch is at work as the next ones, first come, first served, none too large', async () => {
    const rig = new Rig({ maxSize: 3 });
    await rig.submitted('a');
    for (const letter of 'bcdefgh') await rig.submitted(letter);
    assert.deepEqual(rig.sent, ['a']);
    for (let i = 0; i < 4; i++) await rig.jobs[i]!.done();
    assert.deepEqual(rig.sent, ['a', 'bcd', 'efg', 'h']);
    assert.deepEqual(rig.answers, answersTo('abcdefgh'));
  });

  it('keeps together what comes in one turn, though there are more lanes', async () => {
    const rig = new Rig({ lanes: new Lanes(4), maxSize: 3 });
    for (const letter of 'abcd') {
      rig.submit(letter);
      await Promise.resolve();
    }
    await rig.submitted('e');
    assert.deepEqual(rig.sent, ['abc', 'de']);
  });

  it('has as many batches at work as it has lanes, and each lane takes the next one', async () => {
    const rig = new Rig({ lanes: new Lanes(2) });
    for (const letter of 'abcd') await rig.submitted(letter);
    assert.deepEqual(rig.sent, ['a', 'b']);
    await rig.jobs[1]!.done();
    await rig.submitted('e');
    assert.deepEqual(rig.sent, ['a', 'b', 'cd']);
    await rig.jobs[0]!.done();
    assert.deepEqual(rig.sent, ['a', 'b', 'cd', 'e']);
  });

  it('shares a lane with other kinds, each of which gathers while another is at work, and they take turns', async () => {
    const lanes = new Lanes();
    const [one, other] = [new Rig({ lanes }), new Rig({ lanes })];
    await one.submitted('a');
    for (const letter of 'bc') {
      await one.submitted(letter);
      await other.submitted(letter);
    }
    assert.deepEqual([one.sent, other.sent], [['a'], []]);
    await one.jobs[0]!.done();
    assert.deepEqual([one.sent, other.sent], [['a', 'bc'], []]);
    await one.submitted('d');
    await one.jobs[1]!.done();
    assert.deepEqual([one.sent, other.sent], [['a', 'bc'], ['bc']]);
    await other.jobs[0]!.done();
    assert.deepEqual([one.sent, other.sent], [['a', 'bc', 'd'], ['bc']]);
  });

  it('never sends two at once with maxSize 1', async () => {
    const rig = new Rig({ maxSize: 1 });
    await rig.submitted('abc');
    assert.deepEqual(rig.sent, ['a']);
    await rig.jobs[0]!.fail(new RolledBack('a'));
    await rig.jobs[1]!.done();
    await rig.jobs[2]!.done();
    assert.deepEqual(rig.sent, ['a', 'b', 'c'], 'one that fails alone is not run again');
    assert.deepEqual(rig.answers, { ...answersTo('bc'), a: rejected(new RolledBack('a')) });
  });

  it('runs a batch again one by one when it left nothing behind, and each gets his own answer', async () => {
    const rig = new Rig();
    await rig.submitted('abc');
    await rig.jobs[0]!.fail(new RolledBack('all'));
    await rig.submitted('d');
    assert.deepEqual(rig.sent, ['abc', 'a'], 'one after the other, and others wait meanwhile');
    await rig.jobs[1]!.done();
    await rig.jobs[2]!.fail(new RolledBack('b'));
    await rig.jobs[3]!.done();
    assert.deepEqual(rig.answers, { ...answersTo('ac'), b: rejected(new RolledBack('b')) });
    assert.deepEqual(rig.sent, ['abc', 'a', 'b', 'c', 'd']);
  });

  it('tells each of a batch that may have been done its error, and runs nothing again', async () => {
    const rig = new Rig();
    await rig.submitted('abcd');
    const lost = new Error('lost');
    await rig.jobs[0]!.fail(lost);
    assert.deepEqual(rig.answers, { a: rejected(lost), b: rejected(lost), c: rejected(lost) });
    assert.deepEqual(rig.sent, ['abc', 'd'], 'the lane goes on with the next batch');
  });

  it('rejects that input alone whose output is an Error', async () => {
    const rig = new Rig();
    await rig.submitted('abc');
    const refused = new RolledBack('b');
    await rig.jobs[0]!.done([answerTo('a'), refused, answerTo('c')]);
    assert.deepEqual(rig.answers, { ...answersTo('ac'), b: rejected(refused) });
    assert.deepEqual(rig.sent, ['abc'], 'nothing is run again');
  });

  it('takes no more weight than fits in one batch; what weighs more goes alone', async () => {
    const rig = new Rig({ maxSize: 10, maxWeight: 5, weightOf: (letter) => (letter === 'X' ? 9 : 2) });
    await rig.submitted('a');
    await rig.submitted('bcdXe');
    for (let i = 0; i < rig.jobs.length; i++) await rig.jobs[i]!.done();
    assert.deepEqual(rig.sent, ['a', 'bc', 'd', 'X', 'e']);
  });

  it('leaves out whoever is gone before his turn, rejects with the reason, and gives his place to the next', async () => {
    const rig = new Rig({ maxSize: 2 });
    const hangUp = new AbortController();
    await rig.submitted('a');
    await rig.submitted('bd', hangUp.signal);
    await rig.submitted('ce');
    const reason = new Error('hung up');
    hangUp.abort(reason);
    await rig.submitted('f', hangUp.signal);
    await rig.jobs[0]!.done();
    await rig.jobs[1]!.done();
    assert.deepEqual(rig.sent, ['a', 'ce']);
    assert.deepEqual(rig.answers, {
      ...answersTo('ace'),
      b: rejected(reason),
      d: rejected(reason),
      f: rejected(reason),
    });
  });

  it('sends no empty batch when all that waited are gone, and goes on', async () => {
    const rig = new Rig();
    const hangUp = new AbortController();
    await rig.submitted('a');
    await rig.submitted('b', hangUp.signal);
    hangUp.abort();
    await rig.jobs[0]!.done();
    assert.deepEqual(rig.answers, { ...answersTo('a'), b: rejected(hangUp.signal.reason) });
    await rig.submitted('c');
    assert.deepEqual(rig.sent, ['a', 'c']);
  });

  it('lets whoever is gone while he is at work go on to his end, also when he is run again alone', async () => {
    const rig = new Rig();
    const hangUp = new AbortController();
    await rig.submitted('ab', hangUp.signal);
    hangUp.abort();
    await rig.jobs[0]!.fail(new RolledBack('all'));
    await rig.jobs[1]!.done();
    await rig.jobs[2]!.done();
    assert.deepEqual(rig.answers, answersTo('ab'));
  });

  for (const [error, sent] of [
    [new Error('no luck'), ['ab', 'c']],
    [new RolledBack('no luck'), ['ab', 'a', 'b', 'c']],
  ] as const) {
    it(`takes a run that throws ${error.constructor.name} at once for one that fails`, async () => {
      const runs: string[] = [];
      const rig = new Rig({
        run(inputs) {
          runs.push(inputs.join(''));
          throw error;
        },
        maxSize: 2,
      });
      await rig.submitted('abc');
      assert.deepEqual(rig.answers, { a: rejected(error), b: rejected(error), c: rejected(error) });
      assert.deepEqual(runs, sent);
    });
  }
});
