import assert from 'node:assert/strict';
import type { Sequelize } from 'sequelize';
import fc from 'fast-check';
import { execute, jsonOf, rowsOf, select } from '../../../runtime/db/statements.ts';
import { inTransaction } from '../../../runtime/db/transaction.ts';
import { errorOf, Scratch } from './scratch.ts';

describe('statements', () => {
  let scratch: Scratch;
  let db: Sequelize;

  before(async () => {
    scratch = await Scratch.create();
    db = scratch.open();
    await db.query(
      `CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(300), raw VARBINARY(300), big BIGINT, at DATETIME(3),
        ok BOOLEAN)`,
    );
  });
  after(() => scratch.drop());
  beforeEach(() => db.query('DELETE FROM t'));

  it('execute writes each kind of value as select reads it', async () => {
    const at = new Date('2026-07-01T12:34:56.789Z');
    const raw = Buffer.from([0, 0x27, 0x5c, 0xff]);
    await execute(db, 'INSERT INTO t (name, raw, big, at, ok) VALUES (?,?,?,?,?)', ['ü', raw, 2n ** 62n, at, true]);
    await execute(db, 'INSERT INTO t (name, raw, big, at, ok) VALUES (?,?,?,?,?)', [null, null, 7, at, false]);
    assert.deepEqual(await select(db, 'SELECT name, raw, big, at, ok FROM t ORDER BY id', []), [
      { name: 'ü', raw, big: '4611686018427387904', at, ok: 1 },
      { name: null, raw: null, big: '7', at, ok: 0 },
    ]);
  });

  it('takes any text as a value, never as SQL', async () => {
    const nasty = fc.constantFrom(
      "'",
      '"',
      '\\',
      '?',
      '$1',
      ':name',
      ';',
      '--',
      '/*',
      '`',
      '\0',
      '\n',
      '\u{1f600}',
      '%',
    );
    const text = fc.oneof(
      fc.string({ maxLength: 20 }),
      fc.array(nasty, { maxLength: 20 }).map((parts) => parts.join('')),
    );
    await fc.assert(
      fc.asyncProperty(text, text, async (one, other) => {
        const [row] = await select(db, 'SELECT ? AS one, ? AS other', [one, other]);
        assert.deepEqual(row, { one, other });
      }),
      { numRuns: 50 },
    );
  });

  it('execute tells how many rows were changed, not how many were found', async () => {
    assert.equal(await execute(db, `INSERT INTO t (name) VALUES ${rowsOf('(?)', 3)}`, ['a', 'b', 'b']), 3);
    assert.equal(await execute(db, 'UPDATE t SET name = ? WHERE name = ?', ['c', 'b']), 2);
    assert.equal(await execute(db, 'UPDATE t SET name = ? WHERE name = ?', ['c', 'c']), 0);
    assert.equal(await execute(db, 'UPDATE t SET name = ? WHERE name = ?', ['c', 'z']), 0);
    assert.equal(await execute(db, 'INSERT INTO t (name) SELECT name FROM t WHERE name = ?', ['c']), 2);
    assert.equal(await execute(db, 'DELETE FROM t WHERE name = ?', ['c']), 4);
  });

  it('select has a list of a value for IN', async () => {
    await execute(db, `INSERT INTO t (name) VALUES ${rowsOf('(?)', 3)}`, ['a', 'b', 'c']);
    const rows = await select<{ name: string }>(db, 'SELECT name FROM t WHERE name IN (?) ORDER BY name', [['c', 'a']]);
    assert.deepEqual(rows, [{ name: 'a' }, { name: 'c' }]);
    assert.deepEqual(await select(db, 'SELECT name FROM t WHERE name = ?', ['z']), []);
  });

  it('runs in the transaction that it is given, and outside of any else', async () => {
    const rollBack = new Error('roll back');
    const error = await errorOf(
      inTransaction(db, async (transaction) => {
        await execute(db, "INSERT INTO t (name) VALUES ('inside')", [], transaction);
        await execute(db, "INSERT INTO t (name) VALUES ('outside')", []);
        assert.equal((await select(db, 'SELECT id FROM t', [], transaction)).length, 2);
        assert.equal((await select(db, 'SELECT id FROM t', [])).length, 1);
        throw rollBack;
      }),
    );
    assert.equal(error, rollBack);
    assert.deepEqual(await select(db, 'SELECT name FROM t', []), [{ name: 'outside' }]);
  });

  it('fails when a value is missing or undefined, and does nothing', async () => {
    for (const values of [['a'], ['a', undefined]]) {
      await assert.rejects(
        async () => execute(db, 'INSERT INTO t (name, big) VALUES (?,?)', values),
        /SQL syntax|is undefined/,
      );
    }
    assert.deepEqual(await select(db, 'SELECT id FROM t', []), []);
  });

  it('jsonOf reads a JSON column, however the server sends it', async () => {
    const value = { items: [{ product_id: '9007199254740993', title: "it's ü" }], note: null };
    await db.query('CREATE TABLE j (payload JSON)');
    await execute(db, 'INSERT INTO j VALUES (?)', [JSON.stringify(value)]);
    const [row] = await select<{ payload: unknown }>(db, 'SELECT payload FROM j', []);
    assert.deepEqual(jsonOf(row!.payload), value);
    assert.deepEqual(jsonOf(JSON.stringify(value)), value);
  });

  it('rowsOf repeats the places of one row', () => {
    assert.equal(rowsOf('(?,?)', 1), '(?,?)');
    assert.equal(rowsOf('(?,?,NOW())', 3), '(?,?,NOW()),(?,?,NOW()),(?,?,NOW())');
    assert.equal(rowsOf('(?)', 0), '');
  });
});
