import assert from 'node:assert/strict';
import type { Sequelize } from 'sequelize';
import { isDatabaseAway, duplicateKey, isDeadlock } from '../../../runtime/db/sql-errors.ts';
import { execute, select } from '../../../runtime/db/statements.ts';
import { inTransaction, type Transaction } from '../../../runtime/db/transaction.ts';
import { barrier, errorOf, Scratch } from './scratch.ts';

describe('inTransaction', () => {
  let scratch: Scratch;
  let db: Sequelize;

  before(async () => {
    scratch = await Scratch.create();
    db = scratch.open();
    await db.query('CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)');
  });
  after(() => scratch.drop());
  beforeEach(async () => {
    await db.query('DELETE FROM t');
    await db.query('INSERT INTO t VALUES (1, 0), (2, 0)');
  });

  const numbers = async () => (await select<{ n: number }>(db, 'SELECT n FROM t ORDER BY id', [])).map(({ n }) => n);
  const add = (id: number, tx: Transaction) => execute(db, 'UPDATE t SET n = n + 1 WHERE id = ?', [id], tx);

  /** A deadlock that the server reports, as often as it is asked for. */
  const deadlock = (tx: Transaction) =>
    execute(db, "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'", [], tx);

  it('commits what the work did, and returns what it returned', async () => {
    const returned = await inTransaction(db, async (tx) => {
      await add(1, tx);
      await add(2, tx);
      assert.deepEqual(await numbers(), [0, 0]);
      return 'done';
    });
    assert.equal(returned, 'done');
    assert.deepEqual(await numbers(), [1, 1]);
  });

  it('rolls everything back when the work throws, throws that on, and gives the connection back', async () => {
    const small = scratch.open({ poolSize: 1 });
    const fault = new Error('a fault');
    for (let i = 0; i < 3; i++) {
      const work = inTransaction(small, async (tx) => {
        await execute(small, 'UPDATE t SET n = 9', [], tx);
        throw fault;
      });
      assert.equal(await errorOf(work), fault);
    }
    assert.deepEqual(await numbers(), [0, 0]);
  });

  it('rolls back after an error of the database, and runs the work once', async () => {
    let runs = 0;
    const work = inTransaction(db, async (tx) => {
      runs++;
      await add(1, tx);
      await execute(db, 'INSERT INTO t VALUES (2, 0)', [], tx);
    });
    assert.equal(duplicateKey(await errorOf(work)), 'PRIMARY');
    assert.deepEqual([runs, await numbers()], [1, [0, 0]]);
  });

  it('runs the victim of a deadlock again, so that both transactions have their effect once', async () => {
    const bothHoldOne = barrier(2);
    let runs = 0;
    const crosswise = (first: number, second: number) => {
      let isFirstRun = true;
      return inTransaction(db, async (tx) => {
        runs++;
        await add(first, tx);
        if (isFirstRun) await bothHoldOne();
        isFirstRun = false;
        await add(second, tx);
      });
    };
    await Promise.all([crosswise(1, 2), crosswise(2, 1)]);
    assert.deepEqual([runs, await numbers()], [3, [2, 2]]);
  });

  it('gives up after 5 deadlocks, with nothing done', async () => {
    let runs = 0;
    const work = inTransaction(db, async (tx) => {
      runs++;
      await add(1, tx);
      await deadlock(tx);
    });
    assert.ok(isDeadlock(await errorOf(work)));
    assert.deepEqual([runs, await numbers()], [5, [0, 0]]);
  });

  it('succeeds when the fifth run does, with its effect alone', async () => {
    let runs = 0;
    const run = await inTransaction(db, async (tx) => {
      runs++;
      await add(1, tx);
      if (runs < 5) await deadlock(tx);
      return runs;
    });
    assert.deepEqual([run, await numbers()], [5, [1, 0]]);
  });

  it('does not run a lock wait again, which the caller may', async () => {
    const impatient = scratch.open({ lockWaitSeconds: 1 });
    let runs = 0;
    await inTransaction(db, async (holder) => {
      await add(1, holder);
      const work = inTransaction(impatient, async (tx) => {
        runs++;
        await execute(impatient, 'UPDATE t SET n = 9 WHERE id = 2', [], tx);
        await execute(impatient, 'UPDATE t SET n = 9 WHERE id = 1', [], tx);
      });
      assert.match((await errorOf(work)).message, /Lock wait timeout/);
    });
    assert.deepEqual([runs, await numbers()], [1, [1, 0]]);
  });

  it('throws the error of the work when the connection is lost on the way, and nothing was committed', async () => {
    const { proxy, db: behind } = await scratch.openBehindProxy();
    void proxy.cutBefore(/SELECT 1/);
    const work = inTransaction(behind, async (tx) => {
      await execute(behind, 'UPDATE t SET n = 9', [], tx);
      await select(behind, 'SELECT 1', [], tx);
    });
    assert.ok(isDatabaseAway(await errorOf(work)));
    assert.deepEqual(await numbers(), [0, 0]);
    assert.equal(await inTransaction(behind, () => Promise.resolve('again')), 'again');
  });
});
