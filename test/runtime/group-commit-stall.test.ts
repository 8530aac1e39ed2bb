import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { type GroupCommitOptions, Lanes } from '../../runtime/group-commit.ts';
import { answersTo, rejected, Rig, settled } from './group-commit-rig.ts';

describe('GroupCommit past a batch that is stuck', () => {
  let now: number;
  let timers: { at: number; fire: () => void }[];

  beforeEach(() => {
    now = 1000;
    timers = [];
    mock.method(performance, 'now', () => now);
    mock.method(globalThis, 'setTimeout', (fire: () => void, ms: number) => {
      timers.push({ at: now + ms, fire });
      return timers.length;
    });
  });
  afterEach(() => mock.restoreAll());

  /** Lets so much time pass, and everything run that it brings about. */
  async function after(ms: number): Promise<void> {
    now += ms;
    const due = timers.filter((timer) => timer.at <= now);
    timers = timers.filter((timer) => timer.at > now);
    for (const timer of due) timer.fire();
    await settled();
  }

  /** `a` is stuck. */
  async function stuck(options: Partial<GroupCommitOptions<string, string>> = {}): Promise<Rig> {
    const rig = new Rig({ stallMs: 20, ...options });
    await rig.submitted('a');
    return rig;
  }

  it('opens a spare lane for what has waited for stallMs, all of it that fits', async () => {
    const rig = await stuck();
    await rig.submitted('b');
    await after(10);
    await rig.submitted('c');
    await after(9);
    assert.deepEqual(rig.sent, ['a']);
    await after(1);
    assert.deepEqual(rig.sent, ['a', 'bc']);
    await rig.jobs[1]!.done();
    assert.deepEqual(rig.answers, answersTo('bc'));
  });

  it('opens none before the oldest has waited that long, whenever the one before him came', async () => {
    const rig = await stuck();
    await rig.submitted('b');
    await after(5);
    await rig.jobs[0]!.done();
    await rig.submitted('c');
    await after(15);
    assert.deepEqual(rig.sent, ['a', 'b'], 'c has waited for 15 ms only');
    await after(20);
    assert.deepEqual(rig.sent, ['a', 'b', 'c']);
  });

  it('opens one after the other, 8 of them when each is stuck, and no more', async () => {
    const rig = await stuck({ maxSize: 1, lanes: new Lanes(2) });
    await rig.submitted('bcdefghijkl');
    for (let opened = 2; opened <= 10; opened++) {
      assert.equal(rig.jobs.length, opened);
      await after(20);
    }
    await after(100);
    assert.equal(rig.sent.join(''), 'abcdefghij');
    await rig.jobs[4]!.done();
    assert.equal(rig.jobs.length, 10, 'the lane that it was is closed again');
    await after(20);
    assert.equal(rig.sent.join(''), 'abcdefghijk', 'and opens for what is stuck still');
  });

  it('closes a spare lane behind its batch: nothing overtakes without need', async () => {
    const rig = await stuck();
    await rig.submitted('b');
    await after(20);
    await rig.submitted('c');
    await rig.jobs[1]!.done();
    assert.deepEqual(rig.sent, ['a', 'b'], 'the stuck one has the only lane');
    await rig.jobs[0]!.done();
    assert.deepEqual(rig.sent, ['a', 'b', 'c']);
  });

  it('opens for one kind what is stuck with another, in whose lane it is', async () => {
    const lanes = new Lanes();
    const rig = await stuck({ lanes });
    const other = new Rig({ lanes, stallMs: 20 });
    await other.submitted('b');
    await after(19);
    assert.deepEqual(other.sent, []);
    await after(1);
    assert.deepEqual(other.sent, ['b']);
    await other.submitted('c');
    await other.jobs[0]!.done();
    assert.deepEqual(other.sent, ['b'], 'the stuck one has the only lane');
    await rig.jobs[0]!.done();
    assert.deepEqual(other.sent, ['b', 'c']);
  });

  it('opens none with spareLanes 0', async () => {
    const rig = await stuck({ spareLanes: 0 });
    await rig.submitted('b');
    await after(1000);
    assert.deepEqual(rig.sent, ['a']);
  });

  it('waits for 30 ms by default, and for nothing once nothing waits', async () => {
    const rig = new Rig();
    await rig.submitted('a');
    await rig.submitted('b');
    await after(29);
    assert.deepEqual(rig.sent, ['a']);
    await after(1);
    assert.deepEqual(rig.sent, ['a', 'b']);
    await rig.submitted('c');
    await rig.jobs[1]!.done();
    await rig.jobs[0]!.done();
    assert.deepEqual(rig.sent, ['a', 'b', 'c']);
    await after(1000);
    assert.equal(timers.length, 0);
  });

  it('leaves out, of what was stuck, whoever is gone', async () => {
    const rig = await stuck();
    const hangUp = new AbortController();
    await rig.submitted('b', hangUp.signal);
    await rig.submitted('c');
    hangUp.abort();
    await after(20);
    assert.deepEqual(rig.sent, ['a', 'c']);
    assert.deepEqual(rig.answers, { b: rejected(hangUp.signal.reason) });
  });
});
