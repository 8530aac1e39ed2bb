import assert from 'node:assert/strict';
import type { ResultSetHeader } from 'mysql2';
import type { Sequelize } from 'sequelize';
import { commitTogether, UnexpectedRowsError } from '../../../runtime/db/commit-together.ts';
import { duplicateKey, isDatabaseAway, isDeadlock, UnknownCommitError } from '../../../runtime/db/sql-errors.ts';
import { select } from '../../../runtime/db/statements.ts';
import { holdRows, untilWaiting } from '../../support/row-locks.ts';
import type { SqlProxy } from '../../support/sql-proxy.ts';
import { errorOf, Scratch } from './scratch.ts';

describe('commitTogether', () => {
  let scratch: Scratch;
  let db: Sequelize;
  let behind: Sequelize;
  let proxy: SqlProxy;

  before(async () => {
    scratch = await Scratch.create();
    db = scratch.open({ poolSize: 2 });
    await db.query('CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)');
    ({ proxy, db: behind } = await scratch.openBehindProxy());
  });
  after(() => scratch.drop());
  beforeEach(async () => {
    await db.query('DELETE FROM t');
    await db.query('INSERT INTO t VALUES (1, 0), (2, 0)');
  });

  const numbers = async () => (await select<{ n: number }>(db, 'SELECT n FROM t ORDER BY id', [])).map(({ n }) => n);
  const add = (id: number) => ({ sql: 'UPDATE t SET n = n + 1 WHERE id = ?', values: [id] });
  const insert = (id: number) => ({ sql: 'INSERT INTO t VALUES (?, 0)', values: [id] });
  const look = { sql: 'SELECT n FROM t WHERE id = ?', values: [1] };
  const deadlock = {
    sql: "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'",
    values: [],
  };

  it('commits all, as one step, and returns what each statement answered', async () => {
    let steps = 0;
    const [added, rows, both] = await commitTogether<[ResultSetHeader, { n: number }[], ResultSetHeader]>(
      db,
      [{ ...add(1), mustChange: 1 }, look, { sql: 'UPDATE t SET n = n + 1', values: [], mustChange: 2 }],
      (send) => (steps++, send()),
    );
    assert.deepEqual([added.affectedRows, rows[0]!.n, both.affectedRows, steps], [1, 1, 2, 1]);
    assert.deepEqual(await numbers(), [2, 1]);
  });

  for (const [what, rows] of [
    ['fewer', 2],
    ['more', 0],
  ] as const) {
    it(`commits nothing when a statement changes ${what} rows than it must, and gives the connection back`, async () => {
      for (let i = 0; i < 3; i++) {
        const error = await errorOf(commitTogether(db, [add(2), { ...add(1), mustChange: rows }, insert(3)]));
        assert.ok(error instanceof UnexpectedRowsError);
      }
      assert.deepEqual(await numbers(), [0, 0]);
    });
  }

  it('commits nothing after an error of a statement, and throws that', async () => {
    const error = await errorOf(commitTogether(db, [add(2), insert(1), add(1)]));
    assert.equal(duplicateKey(error), 'PRIMARY');
    assert.deepEqual(await numbers(), [0, 0]);
  });

  it('runs all again after a deadlock, five times at most', async () => {
    let steps = 0;
    const error = await errorOf(commitTogether(db, [add(1), deadlock], (send) => (steps++, send())));
    assert.ok(isDeadlock(error));
    assert.equal(steps, 5);
    assert.deepEqual(await numbers(), [0, 0]);
  });

  it('refuses a value that is undefined', async () => {
    assert.match(String(await errorOf(commitTogether(db, [add(undefined as unknown as number)]))), /undefined/);
  });

  for (const [lose, made] of [
    ['cutBefore', 0],
    ['cutAfter', 1],
  ] as const) {
    it(`throws UnknownCommitError when ${made ? 'the answer' : 'it'} gets lost, and goes on with other connections`, async () => {
      const lost = proxy[lose](/UPDATE t/);
      const error = await errorOf(commitTogether(behind, [add(1), add(2)]));
      await lost;
      assert.ok(error instanceof UnknownCommitError);
      assert.ok(isDatabaseAway(error));
      assert.deepEqual(await numbers(), [made, made]);
      await commitTogether(behind, [add(1)]);
      assert.deepEqual(await numbers(), [made + 1, made]);
    });
  }

  it('ends at the server although its process is gone: no lock waits for it', async () => {
    const release = await holdRows(db, 'SELECT n FROM t WHERE id = 2 FOR UPDATE');
    const gone = proxy.orphan(/UPDATE t/);
    gone.release();
    const error = await errorOf(commitTogether(behind, [add(1), add(2)]));
    assert.ok(error instanceof UnknownCommitError);
    await untilWaiting(db, 1);
    await release();
    await gone.done;
    assert.deepEqual(await numbers(), [1, 1]);
  });
});
