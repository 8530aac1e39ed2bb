import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { ConnectionAcquireTimeoutError, ConnectionError, type Sequelize } from 'sequelize';
import { openDatabase } from '../../../runtime/db/database.ts';
import { execute, select } from '../../../runtime/db/statements.ts';
import { inTransaction } from '../../../runtime/db/transaction.ts';
import { barrier, errorOf, Scratch } from './scratch.ts';

describe('openDatabase', () => {
  let scratch: Scratch;
  let db: Sequelize;

  before(async () => {
    scratch = await Scratch.create();
    db = scratch.open();
    await db.query(
      `CREATE TABLE t (id BIGINT PRIMARY KEY, small BIGINT, amount DECIMAL(20,2), text VARCHAR(5), raw VARBINARY(9),
        at DATETIME(3), on_server TIMESTAMP(3) NULL)`,
    );
  });
  after(() => scratch.drop());
  beforeEach(() => db.query('DELETE FROM t'));

  it('reads what others commit while a transaction is open', async () => {
    await inTransaction(db, async (transaction) => {
      const count = async () => (await select(db, 'SELECT id FROM t', [], transaction)).length;
      assert.equal(await count(), 0);
      await db.query('INSERT INTO t (id) VALUES (1)');
      assert.equal(await count(), 1);
    });
  });

  it('makes every connection anew when a write is refused since the server is read-only', async () => {
    // It has room for no more than those: a pool may open one that nobody waits for any longer.
    const pool = scratch.open({ poolSize: 2 });
    const connections = () => {
      const together = barrier(2);
      return Promise.all(
        [1, 2].map(() =>
          inTransaction(pool, async (transaction) => {
            await together();
            const [row] = await select<{ id: number }>(pool, 'SELECT CONNECTION_ID() AS id', [], transaction);
            return row!.id;
          }),
        ),
      );
    };
    const before = await connections();
    assert.deepEqual((await connections()).toSorted(), before.toSorted());
    const refuse = "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT = 'read-only'";
    await assert.rejects(execute(pool, refuse, []), { errno: 1290 });
    const after = await connections();
    assert.ok(!after.some((id) => before.includes(id)), `${after.join()} after ${before.join()}`);
    assert.deepEqual((await connections()).toSorted(), after.toSorted());
  });

  it('gives every connection of the pool its session', async () => {
    const together = barrier(3);
    const sessions = await Promise.all(
      [1, 2, 3].map(() =>
        inTransaction(db, async (transaction) => {
          await together();
          const [row] = await select<Record<string, unknown>>(
            db,
            `SELECT CONNECTION_ID() AS id, @@innodb_lock_wait_timeout AS lock_wait, @@session.time_zone AS zone,
              @@sql_mode LIKE '%STRICT_ALL_TABLES%' AS strict, @@character_set_client AS charset`,
            [],
            transaction,
          );
          return row!;
        }),
      ),
    );
    assert.equal(new Set(sessions.map(({ id }) => id)).size, 3);
    for (const { id, ...session } of sessions) {
      assert.ok(id);
      assert.deepEqual(Object.fromEntries(Object.entries(session).map(([name, value]) => [name, String(value)])), {
        lock_wait: '2',
        zone: '+00:00',
        strict: '1',
        charset: 'utf8mb4',
      });
    }
  });

  it('waits for a row lock as long as it is told', async () => {
    const impatient = scratch.open({ lockWaitSeconds: 1 });
    await db.query('INSERT INTO t (id) VALUES (1)');
    await inTransaction(db, async (transaction) => {
      await execute(db, 'UPDATE t SET small = 1', [], transaction);
      const startMs = performance.now();
      assert.match((await errorOf(impatient.query('UPDATE t SET small = 2'))).message, /Lock wait timeout/);
      assert.ok(performance.now() - startMs > 900);
    });
  });

  it('changes nothing when it is opened to read only', async () => {
    const reader = scratch.open({ readOnly: true });
    await db.query('INSERT INTO t (id) VALUES (1)');
    for (const sql of ['DELETE FROM t', 'INSERT INTO t (id) VALUES (2)', 'TRUNCATE t', 'CREATE TABLE u (id INT)']) {
      assert.match((await errorOf(reader.query(sql))).message, /READ ONLY transaction/);
    }
    assert.match(
      (await errorOf(inTransaction(reader, (tx) => execute(reader, 'DELETE FROM t', [], tx)))).message,
      /READ ONLY/,
    );
    assert.equal((await select(reader, 'SELECT id FROM t', [])).length, 1);
  });

  it('refuses a value that does not fit, and stores nothing', async () => {
    assert.match((await errorOf(db.query("INSERT INTO t (id, text) VALUES (1, 'longer')"))).message, /too long/);
    assert.match((await errorOf(db.query("INSERT INTO t (id, at) VALUES (1, '2026-02-30')"))).message, /Incorrect/);
    assert.match(
      (await errorOf(db.query('INSERT INTO t (id, small) VALUES (1, 9223372036854775808)'))).message,
      /range/,
    );
    assert.deepEqual(await select(db, 'SELECT id FROM t', []), []);
  });

  it('reads BIGINT, DECIMAL and sums as text, however small, and bytes as a Buffer', async () => {
    await db.query("INSERT INTO t (id, small, amount, raw) VALUES (9223372036854775807, 1, 12.50, X'00FF')");
    const [row] = await select(db, 'SELECT id, small, amount, raw, (SELECT SUM(small) FROM t) AS total FROM t', []);
    const raw = Buffer.from([0, 255]);
    assert.deepEqual(row, { id: '9223372036854775807', small: '1', amount: '12.50', raw, total: '1' });
  });

  it('reads times in UTC, to the millisecond', async () => {
    const text = '2026-07-01 12:34:56.789';
    await db.query(`INSERT INTO t (id, at, on_server) VALUES (1, '${text}', '${text}')`);
    const [row] = await select(db, 'SELECT at, on_server FROM t', []);
    const at = new Date('2026-07-01T12:34:56.789Z');
    assert.deepEqual(row, { at, on_server: at });
    const [clock] = await select<{ now: Date }>(db, 'SELECT NOW(3) AS now', []);
    assert.ok(Math.abs(clock!.now.getTime() - Date.now()) < 60_000);
  });

  it('keeps text of any script', async () => {
    await db.query("INSERT INTO t (id, text) VALUES (1, '订单ü𝒳')");
    assert.deepEqual(await select(db, 'SELECT text FROM t', []), [{ text: '订单ü𝒳' }]);
  });

  it('opens no more connections than it is told, and waits for one only as long as it is told', async () => {
    const small = scratch.open({ poolSize: 1, acquireMs: 400 });
    await small.transaction(async () => {
      assert.ok((await errorOf(small.query('SELECT 1'))) instanceof ConnectionAcquireTimeoutError);
    });
    await small.query('SELECT 1');
  });

  it('gives up on a server that does not greet', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `mysql://root@127.0.0.1:${(server.address() as AddressInfo).port}/x`;
    const deaf = openDatabase({ url, connectTimeoutMs: 50, acquireMs: 5000 });
    const startMs = performance.now();
    const error = await errorOf(deaf.query('SELECT 1'));
    assert.ok(error instanceof ConnectionError);
    assert.ok(performance.now() - startMs < 2000);
    await deaf.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it('makes no connection before it is used', async () => {
    await openDatabase({ url: 'mysql://nobody@127.0.0.1:1/nothing' }).close();
  });
});
