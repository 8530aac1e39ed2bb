import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { createConnection } from 'mysql2/promise';
import { createDatabase, dropDatabase } from '../../dev/database/create-database.ts';
import { findProgram } from '../../dev/database/server-program.ts';
import { startDatabase } from '../../dev/database/start-database.ts';

const moduleUrl = new URL('../../dev/database/start-database.ts', import.meta.url).href;

describe('a private database server', function () {
  this.timeout(120_000);

  let scratch = '';
  let env: NodeJS.ProcessEnv;

  before(async function () {
    // A machine with nothing but a container engine has no way to run one.
    const ways = ['mysqld', 'apt-get', 'mariadbd'].map((name) => findProgram(name, process.env));
    await Promise.any(ways).catch(() => this.skip());
    scratch = await mkdtemp(join(tmpdir(), 'private-server-test-'));
    env = { ...process.env, TMPDIR: scratch, DATABASE_URL: '', DOCKER_HOST: 'unix:///nowhere' };
    if (env['DATABASE_SOURCE'] === 'container') delete env['DATABASE_SOURCE'];
  });

  after(async () => {
    if (scratch) await rm(scratch, { recursive: true });
  });

  it('answers, says its version, and leaves no process and no folder', async () => {
    const lines: string[] = [];
    const server = await startDatabase({ durability: 'relaxed', env, log: (line) => lines.push(line) });
    assert.match(server.version, /^(MySQL|MariaDB) \d+\.\d+\.\d+$/);
    assert.match(server.url, /^mysql:\/\/root:\w+@127\.0\.0\.1:\d+$/);
    assert.equal(lines.at(-1), `starting ${server.version}…`);

    const url = await createDatabase(server.url, 'shop-`1`');
    assert.deepEqual(await ask(url, 'SELECT DATABASE(), @@character_set_database'), ['shop-`1`', 'utf8mb4']);
    await assert.rejects(createDatabase(server.url, 'shop-`1`'), /database exists/);
    await dropDatabase(server.url, 'shop-`1`');
    await dropDatabase(server.url, 'shop-`1`');

    await server.stop();
    await server.stop();
    await assert.rejects(ask(server.url, 'SELECT 1'), { code: 'ECONNREFUSED' });
    assert.deepEqual(await leftovers(), []);
  });

  it('runs two at once, each with the durability asked for', async () => {
    const [full, relaxed] = await Promise.all([
      startDatabase({ durability: 'full', env }),
      startDatabase({ durability: 'relaxed', env }),
    ]);
    const settings = 'SELECT @@innodb_flush_log_at_trx_commit, @@log_bin, @@max_connections, @@character_set_server';
    assert.deepEqual(await ask(full.url, `${settings}, @@sync_binlog`), [1, 1, 500, 'utf8mb4', 1]);
    assert.deepEqual(await ask(relaxed.url, settings), [0, 0, 500, 'utf8mb4']);

    await relaxed.stop();
    assert.deepEqual(await ask(full.url, 'SELECT 1'), [1]);
    await full.stop();
    assert.deepEqual(await leftovers(), []);
  });

  it('keeps its data in a folder, for one process at a time', async () => {
    const dataDir = join(scratch, 'kept');
    const first = await startDatabase({ durability: 'full', dataDir, env });
    await createDatabase(first.url, 'kept');
    await assert.rejects(startDatabase({ durability: 'full', dataDir, env }), /kept is in use by process \d+/);
    assert.deepEqual(await ask(first.url, 'SELECT 1'), [1]);
    await first.stop();

    const second = await startDatabase({ durability: 'relaxed', dataDir, env });
    assert.deepEqual(await ask(second.url, `SHOW DATABASES LIKE 'kept'`), ['kept']);
    await second.stop();
    await rm(dataDir, { recursive: true });
    assert.deepEqual(await leftovers(), []);
  });

  it('ends with a parent that is killed', async () => {
    const parent = startParent('setInterval(() => undefined, 1000)');
    const url = await parent.line(/^mysql:/);
    assert.deepEqual(await ask(url, 'SELECT 1'), [1]);
    await parent.kill();
    await eventuallyNothingLeft();
    await assert.rejects(ask(url, 'SELECT 1'), { code: 'ECONNREFUSED' });
  });

  it('ends with a parent that is killed while the server starts', async () => {
    const parent = startParent('');
    await parent.line(/^starting/);
    await sleep(200);
    await parent.kill();
    await eventuallyNothingLeft();
  });

  it('does not keep its parent alive', async () => {
    await startParent('').ended;
    await eventuallyNothingLeft();
  });

  function startParent(lastWords: string) {
    const code = `
      const { startDatabase } = await import('${moduleUrl}');
      console.log((await startDatabase({ durability: 'relaxed', log: console.log })).url);
      ${lastWords}`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', code], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(parent, 'exit');
    const line = async (pattern: RegExp): Promise<string> => {
      for await (const text of createInterface(parent.stdout)) if (pattern.test(text)) return text;
      throw new Error(`the parent ended without printing ${pattern}`);
    };
    const kill = (): Promise<unknown> => {
      parent.kill('SIGKILL');
      return ended;
    };
    return { ended, line, kill };
  }

  async function eventuallyNothingLeft(): Promise<void> {
    for (let i = 0; i < 100 && (await leftovers()).length > 0; i++) await sleep(50);
    assert.deepEqual(await leftovers(), []);
  }

  /** Files in the scratch folder, and commands that name it. */
  async function leftovers(): Promise<string[]> {
    const processes = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
    const commands = await Promise.all(
      processes.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
    );
    return [...(await readdir(scratch)), ...commands.filter((command) => command.includes(scratch))];
  }
});

async function ask(url: string, sql: string): Promise<unknown[]> {
  const connection = await createConnection(url);
  try {
    const [rows] = await connection.query({ sql, rowsAsArray: true });
    return (rows as unknown[][])[0] ?? [];
  } finally {
    await connection.end();
  }
}
