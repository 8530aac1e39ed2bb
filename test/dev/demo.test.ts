import assert from 'node:assert/strict';
import { createConnection } from 'mysql2/promise';
import { serverUrl } from '../support/setup.ts';
import { privateServerEnv } from './private-server-env.ts';
import { StartedCommand } from './started-command.ts';

interface Json {
  scenes: { name: string; requests: number; orders: number; stockBefore: number; stockAfter: number; ok: boolean }[];
  ok: boolean;
  database?: string;
  error?: string;
}

describe('the demo', function () {
  this.timeout(120_000);

  it('shows six scenes, each with its exact numbers, and leaves nothing behind', async () => {
    const demo = new StartedCommand('dev/demo.ts', ['--json']);
    assert.equal(await demo.ended, 0, demo.output + demo.errors);
    assert.equal(demo.errors, '');
    await demo.leavesNothing();

    const shown = demo.lines.filter((line) => /^\d {2}.* requests → \d orders? +stock \d+ → \d+ +ok$/.test(line));
    assert.deepEqual(
      shown.map((line) => line[0]),
      ['1', '2', '3', '4', '5', '6'],
    );
    assert.ok(demo.lines.includes('every promise kept'));
    const { scenes, ok, database } = lastLine(demo);
    assert.deepEqual(
      scenes.map(({ requests, orders, stockBefore, stockAfter }) => [requests, orders, stockBefore - stockAfter]),
      [
        [3, 1, 2],
        [20, 1, 2],
        [2, 1, 2],
        [2, 1, 2],
        [scenes[4]?.requests, 1, 2],
        [2, 2, 4],
      ],
    );
    assert.ok(ok && scenes.every((scene) => scene.ok));
    assert.match(database ?? '', /^(MySQL|MariaDB) \d+\.\d+\.\d+$/);
  });

  it('fails when a number is wrong, and says which', async () => {
    const demo = new StartedCommand('dev/demo.ts', ['--json'], { DATABASE_URL: serverUrl() });
    await demo.line(/^stock-svc listens/);
    // One piece more than was asked for gets lost each time that stock is taken.
    const [database] = await ask(`SHOW DATABASES LIKE 'demo\\_stock\\_%'`);
    await ask(`CREATE TRIGGER ${database}.lose BEFORE UPDATE ON ${database}.t_stock
      FOR EACH ROW SET NEW.available = NEW.available - (NEW.available < OLD.available)`);

    assert.equal(await demo.ended, 1);
    const { scenes, ok } = lastLine(demo);
    assert.equal(ok, false);
    assert.ok(scenes.every((scene) => !scene.ok));
    assert.match(demo.output, /stock 100 → 97 +WRONG\n {3}stock after: 97, should be 98\n/);
    assert.match(demo.output, /audit of both databases: 6 broken rules\n {3}product 1001: available 97, ledger 98\n/);
    assert.match(demo.output, /a promise was broken: 6 of 6 scenes wrong\n/);
    assert.deepEqual(await ask(`SHOW DATABASES LIKE 'demo\\_%'`), []);
  });

  it('says why a service did not start', async () => {
    const env = { DATABASE_URL: serverUrl(), DATABASE_POOL_SIZE: '0' };
    const demo = new StartedCommand('dev/demo.ts', ['--json'], env);
    assert.equal(await demo.ended, 1);
    assert.match(demo.errors, /stock-svc ended with status 1; its last lines:\n(.*\n)*.*DATABASE_POOL_SIZE: must be/);
    assert.match(lastLine(demo).error ?? '', /^stock-svc ended/);
    await demo.leavesNothing();
  });

  it('ends at Ctrl-C, and leaves nothing behind', async () => {
    const demo = new StartedCommand('dev/demo.ts', [], { DATABASE_URL: serverUrl() });
    await demo.line(/^1 /);
    demo.signal('SIGINT');
    assert.equal(await demo.ended, 130);
    await demo.leavesNothing();
    assert.deepEqual(await ask(`SHOW DATABASES LIKE 'demo\\_%'`), []);
  });

  it('leaves no process behind when it is killed', async function () {
    const env = await privateServerEnv().catch(() => this.skip());
    const demo = new StartedCommand('dev/demo.ts', [], env);
    await demo.line(/^1 /);
    assert.ok((await demo.pids(/order-svc/)).length > 0 || process.platform !== 'linux');
    demo.signal('SIGKILL');
    await demo.ended;
    await demo.leavesNothing(10_000);
  });

  it('knows one option', async () => {
    const demo = new StartedCommand('dev/demo.ts', ['--jason']);
    assert.equal(await demo.ended, 2);
    assert.equal(demo.errors, 'usage: npm run demo [-- --json]\n');
  });
});

function lastLine(demo: StartedCommand): Json {
  return JSON.parse(demo.lines.at(-1) ?? '') as Json;
}

/** The first column. */
async function ask(sql: string): Promise<string[]> {
  const connection = await createConnection(serverUrl());
  try {
    const [rows] = await connection.query({ sql, rowsAsArray: true });
    return Array.isArray(rows) ? (rows as [string][]).map(([value]) => value) : [];
  } finally {
    await connection.end();
  }
}
