import assert from 'node:assert/strict';
import { expireTogether, findUnpaid } from '../../../order-svc/db/cancel-orders.ts';
import { findPosition, listOrders } from '../../../order-svc/db/list-orders.ts';
import { type OrderDb, openOrderDb } from '../../../order-svc/db/models.ts';
import { acquireConnection, releaseConnection } from '../../../runtime/db/connection.ts';
import { execute, rowsOf, select } from '../../../runtime/db/statements.ts';
import { databaseUrlOf, startSystem, type System } from '../../support/system.ts';
import { expire, WINDOW_MS } from './life.ts';

const ORDERS = 9_000;
const STATUSES = ['WAIT_PAY', 'PAID', 'CANCELLED'] as const;
type Query = (sql: string, values: unknown, then: (error: unknown, rows: unknown) => void) => void;

/** Has half of all orders. */
const BUSY_USER = 1n;

// What the expiry and ListOrders cost with many orders there, by the server's own count of the rows that it reads. No audit: these
// orders have no stock and no events.
describe(`with ${ORDERS} orders there`, () => {
  let system: System;
  /** Of one connection. */
  let db: OrderDb;

  before(async function () {
    this.timeout(60_000);
    system = await startSystem();
    db = openOrderDb({ url: databaseUrlOf(system.orderDb), poolSize: 1 });
    for (let from = 0; from < ORDERS; from += 1000) await insertOrders(from, 1000);
    await select(db.sequelize, 'ANALYZE TABLE t_order, t_order_item', []);
  });
  after(async () => {
    await db.sequelize.close();
    await system.stop();
  });

  /** Each with one item; a third in each status; all older than the pay window but the last tenth. */
  async function insertOrders(from: number, count: number): Promise<void> {
    const numbers = Array.from({ length: count }, (_, i) => from + i);
    await execute(
      db.sequelize,
      `INSERT INTO t_order (order_no, user_id, fingerprint, status, total_amount, create_time)
        VALUES ${rowsOf("(?, ?, '', ?, 1, UTC_TIMESTAMP(3) - INTERVAL ? SECOND)", count)}`,
      numbers.flatMap((i) => {
        const ageSeconds = i < ORDERS * 0.9 ? WINDOW_MS / 1000 + ORDERS - i : 0;
        return [orderNo(i), i % 2 === 0 ? BUSY_USER : i, STATUSES[i % 3], ageSeconds];
      }),
    );
    await execute(
      db.sequelize,
      `INSERT INTO t_order_item (order_no, line_no, product_id, quantity, title, unit_price_cents)
        VALUES ${rowsOf("(?, 0, 1, 1, 'Tea', 100)", count)}`,
      numbers.map(orderNo),
    );
  }
  const orderNo = (i: number) => String(10n ** 17n + BigInt(i));

  /** What the server read for the work: how many rows, and of t_order by which keys. */
  async function costOf(work: () => Promise<unknown>): Promise<{ rows: number; keys: string[] }> {
    const count = async () => {
      const sql = "SHOW SESSION STATUS LIKE 'Handler_read%'";
      const counters = await select<{ Value: string }>(db.sequelize, sql, []);
      return counters.reduce((sum, { Value }) => sum + Number(Value), 0);
    };
    const before = [await count(), await count()] as const;
    await work();
    // The count itself reads as well.
    const rows = (await count()) - before[1] - (before[1] - before[0]);
    return { rows, keys: await keysOf(work) };
  }

  /** `range idx_status` for each use of t_order in each SELECT, by EXPLAIN. */
  async function keysOf(work: () => Promise<unknown>): Promise<string[]> {
    const connection = await acquireConnection(db.sequelize);
    const query = connection.query.bind(connection) as Query;
    const keys: string[] = [];
    const explain: Query = (sql, values, then) => {
      if (!sql.startsWith('SELECT')) return query(sql, values, then);
      query(`EXPLAIN FORMAT=TRADITIONAL ${sql}`, values, (error, plan) => {
        assert.ifError(error);
        for (const { table, type, key } of plan as { table: string; type: string; key: string }[]) {
          if (['t_order', 'o', 'i'].includes(table)) keys.push(`${type} ${key}`);
        }
        query(sql, values, then);
      });
    };
    Object.assign(connection, { query: explain });
    releaseConnection(db.sequelize, connection);
    await work().finally(() => Object.assign(connection, { query }));
    return [...new Set(keys)].sort();
  }

  it('finds the oldest that are not paid by idx_status, and reads no more than it takes', async () => {
    const { rows, keys } = await costOf(() => findUnpaid(db, WINDOW_MS, 100));
    assert.deepEqual(keys, ['range idx_status']);
    assert.ok(rows <= 101, `${rows} rows`);
    const [first, second] = await findUnpaid(db, WINDOW_MS, 2);
    assert.deepEqual([first, second], [orderNo(0), orderNo(3)]);
  });

  it('reads nothing where nothing is due', async () => {
    const { rows } = await costOf(() => findUnpaid(db, WINDOW_MS * 1000, 100));
    assert.ok(rows <= 1, `${rows} rows`);
  });

  for (const status of [undefined, ...STATUSES]) {
    it(`lists ${status ?? 'all'} of a user with half of them by idx_user_id, and reads little more than the page`, async () => {
      const position = await findPosition(db, BUSY_USER, orderNo(ORDERS / 2));
      for (const below of [2n ** 62n, position!]) {
        const page = () => listOrders(db, BUSY_USER, { status, below, limit: 21 });
        const { rows, keys } = await costOf(page);
        assert.equal((await page()).length, 21);
        assert.deepEqual(keys, ['eq_ref PRIMARY', 'range idx_user_id', 'ref PRIMARY']);
        assert.ok(rows <= 21 * 15, `${rows} rows`);
      }
    });
  }

  it('finds where a page begins by the number', async () => {
    const { rows, keys } = await costOf(() => findPosition(db, BUSY_USER, orderNo(100)));
    assert.deepEqual(keys, ['const uk_order_no']);
    assert.ok(rows <= 1, `${rows} rows`);
  });

  it('expires a batch by the numbers, and reads no order besides', async () => {
    const batch = await findUnpaid(db, WINDOW_MS, 100);
    const { rows } = await costOf(() => expireTogether(db, batch));
    assert.ok(rows <= 100 * 10, `${rows} rows`);
  });

  it('expires five hundred in a pass, and says when there are more', async function () {
    this.timeout(60_000);
    const passes: boolean[] = [];
    do passes.push((await expire(db)).more);
    while (passes.at(-1));
    assert.equal(passes.length, Math.ceil((ORDERS * 0.9) / 3 / 500));
    assert.deepEqual(await findUnpaid(db, WINDOW_MS, 1), []);
    assert.equal(await db.Order.count({ where: { status: 'WAIT_PAY' } }), Math.round((ORDERS * 0.1) / 3));
  });
});
