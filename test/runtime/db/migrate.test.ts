import assert from 'node:assert/strict';
import { pino } from 'pino';
import type { Sequelize } from 'sequelize';
import { migrate, type Migration } from '../../../runtime/db/migrate.ts';
import { execute, select } from '../../../runtime/db/statements.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { errorOf, Scratch } from './scratch.ts';

describe('migrate', () => {
  let scratch: Scratch;
  let db: Sequelize;
  /** Which steps ran, in order. */
  let ran: string[];

  beforeEach(async () => {
    scratch = await Scratch.create();
    db = scratch.open();
    ran = [];
  });
  afterEach(() => scratch.drop());

  function step(name: string, up: Migration['up'] = () => Promise.resolve()): Migration {
    return { name, up: (sequelize) => (ran.push(name), up(sequelize)) };
  }

  const table = step('001-table', (sequelize) => sequelize.query('CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)'));
  const rows = step('002-rows', (sequelize) => execute(sequelize, 'INSERT INTO t VALUES (1), (2)', []));
  const done = async () =>
    (await select<{ name: string }>(db, 'SELECT name FROM t_migration ORDER BY name', [])).map(({ name }) => name);

  it('runs the steps in order, and none of them again', async () => {
    await migrate(db, [table, rows], silentLogger);
    await migrate(db, [table, rows], silentLogger);
    assert.deepEqual(ran, ['001-table', '002-rows']);
    assert.deepEqual(await done(), ['001-table', '002-rows']);
    assert.equal((await select(db, 'SELECT id FROM t', [])).length, 2);
  });

  it('runs only what a new release adds', async () => {
    await migrate(db, [table], silentLogger);
    await migrate(db, [table, rows], silentLogger);
    assert.deepEqual(ran, ['001-table', '002-rows']);
  });

  it('runs each step once however many start together, and all of them wait for it', async () => {
    const pools = [1, 2, 3, 4].map(() => scratch.open({ poolSize: 2 }));
    const seen = await Promise.all(
      pools.map(async (pool) => {
        await migrate(pool, [table, rows], silentLogger);
        return (await select(pool, 'SELECT id FROM t', [])).length;
      }),
    );
    assert.deepEqual(ran, ['001-table', '002-rows']);
    assert.deepEqual(seen, [2, 2, 2, 2]);
  });

  it('runs a step again that broke off half way, and not those before it', async () => {
    let broken = true;
    const fragile = step('002-fragile', async (sequelize) => {
      await sequelize.query('CREATE TABLE IF NOT EXISTS half (id INT PRIMARY KEY)');
      if (broken) throw new Error('the power went off');
      await sequelize.query('CREATE TABLE IF NOT EXISTS whole (id INT PRIMARY KEY)');
    });
    const error = await errorOf(migrate(db, [table, fragile], silentLogger));
    assert.match(error.message, /002-fragile.*the power went off/);
    assert.deepEqual(await done(), ['001-table']);
    broken = false;
    // From another connection: the lock was given back.
    await migrate(scratch.open(), [table, fragile], silentLogger);
    assert.deepEqual(ran, ['001-table', '002-fragile', '002-fragile']);
    assert.deepEqual(await select(db, 'SELECT id FROM whole', []), []);
  });

  it('lets another one go on when a process dies in the middle', async () => {
    const { proxy, db: dying } = await scratch.openBehindProxy();
    const reached = Promise.withResolvers<void>();
    const stuck = step('001-stuck', () => {
      reached.resolve();
      proxy.refuse();
      return new Promise(() => {});
    });
    void migrate(dying, [stuck], silentLogger);
    await reached.promise;
    await migrate(db, [table], silentLogger);
    assert.deepEqual(await done(), ['001-table']);
  });

  it('throws the error of the step even when its connection is lost with it', async () => {
    const { proxy, db: dying } = await scratch.openBehindProxy();
    const broken = step('001-broken', () => (proxy.refuse(), Promise.reject(new Error('the step failed'))));
    assert.match((await errorOf(migrate(dying, [broken], silentLogger))).message, /the step failed/);
  });

  it('logs each step that it ran', async () => {
    const lines: string[] = [];
    const logger = pino({ messageKey: 'message' }, { write: (line: string) => void lines.push(line) });
    await migrate(db, [table, rows], logger);
    await migrate(db, [table, rows], logger);
    const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(
      logged.map(({ migration, message }) => `${String(message)} ${String(migration)}`),
      ['migrated 001-table', 'migrated 002-rows'],
    );
  });
});
