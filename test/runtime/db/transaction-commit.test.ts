import assert from 'node:assert/strict';
import type { Sequelize } from 'sequelize';
import { isDatabaseAway, UnknownCommitError } from '../../../runtime/db/sql-errors.ts';
import { execute, select } from '../../../runtime/db/statements.ts';
import { inTransaction } from '../../../runtime/db/transaction.ts';
import type { SqlProxy } from '../../support/sql-proxy.ts';
import { errorOf, Scratch } from './scratch.ts';

describe('inTransaction at COMMIT', () => {
  let scratch: Scratch;
  let db: Sequelize;
  let behind: Sequelize;
  let proxy: SqlProxy;

  before(async () => {
    scratch = await Scratch.create();
    db = scratch.open();
    await db.query('CREATE TABLE t (id INT PRIMARY KEY)');
    ({ proxy, db: behind } = await scratch.openBehindProxy());
  });
  after(() => scratch.drop());
  beforeEach(() => db.query('DELETE FROM t'));

  const insert = () => inTransaction(behind, (tx) => execute(behind, 'INSERT INTO t VALUES (1)', [], tx));
  const count = async () => (await select(db, 'SELECT id FROM t', [])).length;

  for (const [lost, committed] of [
    ['cutBefore', 0],
    ['cutAfter', 1],
  ] as const) {
    const what = lost === 'cutBefore' ? 'COMMIT' : "COMMIT's answer";
    it(`throws UnknownCommitError when ${what} gets lost, runs nothing again, and goes on with other connections`, async () => {
      const seen = proxy[lost](/COMMIT;/);
      const error = await errorOf(insert());
      await seen;
      assert.ok(error instanceof UnknownCommitError);
      assert.ok(error.cause instanceof Error);
      assert.ok(isDatabaseAway(error));
      assert.equal(await count(), committed);
      await db.query('DELETE FROM t');
      await insert();
      assert.equal(await count(), 1);
    });
  }

  it('throws another error when BEGIN gets lost: nothing was committed', async () => {
    const seen = proxy.cutBefore(/START TRANSACTION/);
    const error = await errorOf(insert());
    await seen;
    assert.ok(!(error instanceof UnknownCommitError));
    assert.ok(isDatabaseAway(error));
    assert.equal(await count(), 0);
  });

  it('does not say that COMMIT is unknown when the work has swallowed a deadlock, which ended the transaction', async () => {
    const signal = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'";
    const work = inTransaction(db, async (tx) => {
      await execute(db, 'INSERT INTO t VALUES (1)', [], tx);
      await execute(db, signal, [], tx).catch(() => {});
    });
    assert.ok(!((await errorOf(work)) instanceof UnknownCommitError));
    assert.equal(await count(), 0);
  });
});
