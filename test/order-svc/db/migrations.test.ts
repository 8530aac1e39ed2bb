import assert from 'node:assert/strict';
import { orderMigrations } from '../../../order-svc/db/migrations.ts';
import { orderTables } from '../../../order-svc/db/migrations/001-orders.ts';
import { migrate } from '../../../runtime/db/migrate.ts';
import { execute, select } from '../../../runtime/db/statements.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { Scratch } from '../../runtime/db/scratch.ts';

describe('the tables of order-svc', () => {
  let scratch: Scratch;
  /** What they are when all went well. */
  let whole: string[];

  before(async () => {
    scratch = await Scratch.create();
    const db = scratch.open();
    await migrate(db, orderMigrations, silentLogger);
    whole = await tablesOf(scratch);
    await scratch.drop();
  });
  beforeEach(async () => (scratch = await Scratch.create()));
  afterEach(() => scratch.drop());

  async function tablesOf(from: Scratch): Promise<string[]> {
    const db = from.open();
    const tables = await select<Record<string, string>>(db, 'SHOW TABLES', []);
    const names = tables.map((row) => Object.values(row)[0]!).filter((name) => name !== 't_migration');
    const created = names.sort().map((name) => select<Record<string, string>>(db, `SHOW CREATE TABLE ${name}`, []));
    return (await Promise.all(created)).map(([row]) => row!['Create Table']!.replace(/ AUTO_INCREMENT=\d+/, ''));
  }

  it('are upgraded with the orders in them, which are neither paid nor cancelled by it', async () => {
    const db = scratch.open();
    await migrate(db, [orderTables], silentLogger);
    await execute(
      db,
      `INSERT INTO t_order (order_no, user_id, fingerprint, status, total_amount) VALUES ('1', 7, '', 'WAIT_PAY', 1)`,
      [],
    );
    await migrate(db, orderMigrations, silentLogger);
    const [order] = await select<Record<string, unknown>>(db, 'SELECT * FROM t_order', []);
    assert.equal(order!['status'], 'WAIT_PAY');
    for (const column of ['pay_time', 'payment_no', 'cancel_time', 'cancelled_by', 'cancel_reason']) {
      assert.equal(order![column], null, column);
    }
    assert.deepEqual(await tablesOf(scratch), whole);
  });

  for (const step of [
    /CREATE TABLE IF NOT EXISTS t_payment/,
    /ADD COLUMN pay_time/,
    /ADD KEY idx_status/,
    /ADD KEY idx_user_id/,
  ]) {
    for (const when of ['before', 'after'] as const) {
      it(`are whole when the upgrade broke off ${when} ${step.source} and is run again`, async () => {
        const { proxy, db } = await scratch.openBehindProxy();
        const lost = when === 'before' ? proxy.cutBefore(step) : proxy.cutAfter(step);
        await assert.rejects(migrate(db, orderMigrations, silentLogger));
        await lost;
        await migrate(scratch.open(), orderMigrations, silentLogger);
        assert.deepEqual(await tablesOf(scratch), whole);
      });
    }
  }
});
