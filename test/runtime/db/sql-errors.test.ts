import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Sequelize } from 'sequelize';
import {
  duplicateKey,
  isDatabaseAway,
  isDeadlock,
  UnknownCommitError,
  wasRolledBack,
} from '../../../runtime/db/sql-errors.ts';
import { execute } from '../../../runtime/db/statements.ts';
import { errorOf, Scratch } from './scratch.ts';

/** Numbers of errors that say: not now. */
const NOT_NOW = [1021, 1040, 1053, 1114, 1203, 1205, 1213, 1290, 1317, 1836, 1927, 3024];

describe('sql-errors', () => {
  let scratch: Scratch;
  let db: Sequelize;

  before(async () => {
    scratch = await Scratch.create();
    db = scratch.open();
    await db.query(
      `CREATE TABLE t_order (order_no VARCHAR(300) PRIMARY KEY, client_request_id VARBINARY(300), a INT, b INT,
        UNIQUE KEY uk_client_request_id (client_request_id), UNIQUE KEY uk_a_b (a, b)) CHARACTER SET ascii`,
    );
  });
  after(() => scratch.drop());
  beforeEach(() => db.query('DELETE FROM t_order'));

  /** The error that the server answers with that number. */
  function serverError(errno: number): Promise<Error> {
    return errorOf(db.query(`SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = ${errno}, MESSAGE_TEXT = 'made by a test'`));
  }

  function insert(orderNo: string, key: string | Buffer | null, a: number | null = null, b = 0): Promise<number> {
    const sql = 'INSERT INTO t_order (order_no, client_request_id, a, b) VALUES (?,?,?,?)';
    return execute(db, sql, [orderNo, key, a, b]);
  }

  describe('duplicateKey', () => {
    it('names the key without its table', async () => {
      await insert('1', 'k', 1, 2);
      assert.equal(duplicateKey(await errorOf(insert('1', null))), 'PRIMARY');
      assert.equal(duplicateKey(await errorOf(insert('2', 'k'))), 'uk_client_request_id');
      assert.equal(duplicateKey(await errorOf(insert('2', null, 1, 2))), 'uk_a_b');
    });

    it('names it for an UPDATE too', async () => {
      await insert('1', 'k');
      await insert('2', 'l');
      const update = execute(db, 'UPDATE t_order SET client_request_id = ? WHERE order_no = ?', ['k', '2']);
      assert.equal(duplicateKey(await errorOf(update)), 'uk_client_request_id');
    });

    it('is not led astray by what the value says', async () => {
      const astray = [
        "' for key 't.PRIMARY",
        "x' for key 'PRIMARY'",
        "' for key 'PRIMARY' for key '",
        'a-b-c',
        "'",
        "''",
      ];
      for (const value of astray) {
        await insert(`1 ${value}`, value);
        assert.equal(duplicateKey(await errorOf(insert(`2 ${value}`, value))), 'uk_client_request_id', value);
        assert.equal(duplicateKey(await errorOf(insert(`1 ${value}`, null))), 'PRIMARY', value);
      }
    });

    it('is not led astray by any bytes', async () => {
      const part = fc.oneof(
        fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
        fc.constantFrom("' for key '", '.', '-', '\n', "'").map((text) => Buffer.from(text)),
      );
      const parts = fc.array(part, { maxLength: 8 }).map((list) => Buffer.concat(list));
      await fc.assert(
        fc.asyncProperty(parts, async (key) => {
          await db.query('DELETE FROM t_order');
          await insert('1', key);
          assert.equal(duplicateKey(await errorOf(insert('2', key))), 'uk_client_request_id');
        }),
        { numRuns: 50 },
      );
    });

    it('is undefined for any other error', async () => {
      const text = "Duplicate entry '1' for key 'PRIMARY'";
      const others = [
        await errorOf(db.query('SELECT nothing')),
        await serverError(1213),
        new Error(text),
        text,
        undefined,
      ];
      assert.deepEqual(others.map(duplicateKey), [undefined, undefined, undefined, undefined, undefined]);
    });
  });

  describe('isDeadlock', () => {
    it('is true for a deadlock alone', async () => {
      assert.equal(isDeadlock(await serverError(1213)), true);
      const others = [await serverError(1205), await serverError(1062), new Error('Deadlock found'), undefined];
      assert.deepEqual(others.map(isDeadlock), [false, false, false, false]);
    });
  });

  describe('wasRolledBack', () => {
    it('is true for what the server refused, and false for a COMMIT whose outcome is unknown and for other errors', async () => {
      await insert('1', null);
      const refused = [await errorOf(insert('1', null)), await errorOf(db.query('SELEC')), await serverError(1213)];
      assert.deepEqual(refused.map(wasRolledBack), [true, true, true]);
      const others = [new UnknownCommitError('', { cause: refused[0] }), new Error('1062'), undefined];
      assert.deepEqual(others.map(wasRolledBack), [false, false, false]);
    });
  });

  describe('isDatabaseAway', () => {
    it('is true when the server says that it cannot do the work now', async () => {
      for (const errno of NOT_NOW) assert.equal(isDatabaseAway(await serverError(errno)), true, String(errno));
    });

    it('is true for a COMMIT whose outcome is unknown', () => {
      assert.equal(isDatabaseAway(new UnknownCommitError('')), true);
    });

    it('is false for what a repeat would meet again, and for what is no error of the database', async () => {
      await insert('1', null);
      const faults = [
        await errorOf(db.query('SELEC')),
        await errorOf(db.query('SELECT * FROM nothing')),
        await errorOf(insert('1', null)),
        await errorOf(insert('x'.repeat(301), null)),
      ];
      for (const fault of faults) assert.equal(isDatabaseAway(fault), false, fault.message);
      const others = [
        new Error('connect ECONNREFUSED'),
        Object.assign(new Error(), { code: 'ECONNRESET' }),
        undefined,
        7,
      ];
      assert.deepEqual(others.map(isDatabaseAway), [false, false, false, false]);
    });
  });
});
