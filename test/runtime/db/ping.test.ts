import assert from 'node:assert/strict';
import { pingDatabase } from '../../../runtime/db/ping.ts';
import { errorOf, Scratch } from './scratch.ts';

describe('pingDatabase', () => {
  let scratch: Scratch;
  before(async () => (scratch = await Scratch.create()));
  after(() => scratch.drop());

  const never = () => new AbortController().signal;

  it('is true when the database answers, and keeps its one connection', async () => {
    const db = scratch.open({ poolSize: 1 });
    const pings = Array.from({ length: 5 }, () => pingDatabase(db, never()));
    assert.deepEqual(await Promise.all(pings), [true, true, true, true, true]);
  });

  it('fails when the database is away, and works again when it is back', async () => {
    const { proxy, db } = await scratch.openBehindProxy();
    await pingDatabase(db, never());
    proxy.refuse();
    await assert.rejects(pingDatabase(db, never()));
    proxy.allow();
    assert.equal(await pingDatabase(db, never()), true);
  });

  it('gives up on a connection that is silent, and lets go of it', async () => {
    const { proxy, db } = await scratch.openBehindProxy({ poolSize: 1 });
    const held = proxy.hold(/SELECT 1/);
    const controller = new AbortController();
    const ping = errorOf(pingDatabase(db, controller.signal));
    await held.reached;
    controller.abort(new Error('too long'));
    assert.equal((await ping).message, 'too long');
    // The pool has one place, and it is free again, though the connection is silent still.
    assert.equal(await pingDatabase(db, never()), true);
    held.release();
  });
});
