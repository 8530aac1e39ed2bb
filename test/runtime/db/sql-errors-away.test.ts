import assert from 'node:assert/strict';
import type { Sequelize } from 'sequelize';
import { isDatabaseAway, wasRolledBack } from '../../../runtime/db/sql-errors.ts';
import { execute, select } from '../../../runtime/db/statements.ts';
import { until } from '../rpc/rig.ts';
import { inTransaction, type Transaction } from '../../../runtime/db/transaction.ts';
import { errorOf, Scratch } from './scratch.ts';

describe('isDatabaseAway', () => {
  let scratch: Scratch;
  let db: Sequelize;

  before(async () => {
    scratch = await Scratch.create();
    db = scratch.open();
    await db.query('CREATE TABLE t (id INT PRIMARY KEY)');
  });
  after(() => scratch.drop());

  async function connectionOf(transaction: Transaction): Promise<number> {
    const [row] = await select<{ id: string }>(db, 'SELECT CONNECTION_ID() AS id', [], transaction);
    return Number(row!.id);
  }

  async function assertAway(work: Promise<unknown>): Promise<void> {
    const error = await errorOf(work);
    assert.ok(isDatabaseAway(error), `${error.name}: ${error.message}`);
  }

  it('is true when nobody listens', async () => {
    const url = new URL(scratch.url);
    url.port = '1';
    const error = await errorOf(scratch.open({ url: url.href }).query('SELECT 1'));
    assert.deepEqual([isDatabaseAway(error), wasRolledBack(error)], [true, false]);
  });

  it('is true when the host is not known', async () => {
    await assertAway(scratch.open({ url: 'mysql://root@nowhere.invalid/x' }).query('SELECT 1'));
  });

  it('is true when the user is refused', async () => {
    const url = new URL(scratch.url);
    url.password = 'wrong';
    await assertAway(scratch.open({ url: url.href }).query('SELECT 1'));
  });

  it('is true when no connection comes free in time', async () => {
    const small = scratch.open({ poolSize: 1, acquireMs: 400 });
    await small.transaction(() => assertAway(small.query('SELECT 1')));
  });

  it('is true when the connection is killed between two statements', async () => {
    const work = inTransaction(db, async (transaction) => {
      await execute(scratch.open(), `KILL ${await connectionOf(transaction)}`, []);
      await execute(db, 'INSERT INTO t VALUES (1)', [], transaction);
    });
    await assertAway(work);
    assert.deepEqual(await select(db, 'SELECT id FROM t', []), []);
  });

  for (const kill of ['KILL', 'KILL QUERY']) {
    it(`is true when a statement is ended by ${kill}`, async () => {
      await inTransaction(db, async (holder) => {
        await execute(db, 'INSERT INTO t VALUES (1)', [], holder);
        const work = inTransaction(db, async (transaction) => {
          const id = await connectionOf(transaction);
          const waiting = assertAway(execute(db, 'INSERT INTO t VALUES (1)', [], transaction));
          const seen = `SELECT id FROM information_schema.processlist WHERE id = ? AND info LIKE 'INSERT%'`;
          await until(async () => (await select(db, seen, [id])).length > 0);
          await execute(db, `${kill} ${id}`, []);
          await waiting;
          throw new Error('roll back');
        });
        await errorOf(work);
        await execute(db, 'DELETE FROM t', [], holder);
      });
    });
  }

  it('is true when the connection is lost before, during and after a statement, and the pool recovers', async () => {
    const { proxy, db: behind } = await scratch.openBehindProxy();
    const reached = proxy.cutBefore(/SELECT 1/);
    const lost = await errorOf(behind.query('SELECT 1'));
    assert.deepEqual([isDatabaseAway(lost), wasRolledBack(lost)], [true, false]);
    await reached;
    const answered = proxy.cutAfter(/INSERT/);
    await assertAway(behind.query('INSERT INTO t VALUES (7)'));
    await answered;
    assert.deepEqual(await select(behind, 'SELECT id FROM t', []), [{ id: 7 }]);
    proxy.refuse();
    await assertAway(behind.query('SELECT 1'));
    proxy.allow();
    // The pool may have begun to open another connection while nobody got in: that failure, too, goes to whoever asks next.
    await until(() =>
      behind.query('SELECT 1').then(
        () => true,
        () => false,
      ),
    );
  });
});
