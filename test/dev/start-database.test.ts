import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { startDatabase } from '../../dev/database/start-database.ts';
import type { DatabaseServer } from '../../dev/database/start-database.ts';
import { findContainerEngine } from '../../dev/database/container-engine.ts';
import { findDebianMysql } from '../../dev/database/unpack-mysql.ts';

const moduleUrl = new URL('../../dev/database/start-database.ts', import.meta.url).href;

describe('startDatabase', function () {
  this.timeout(120_000);

  let scratch: string;
  let programs: string;
  let env: NodeJS.ProcessEnv;
  let lines: string[];
  const start = (more: NodeJS.ProcessEnv): Promise<DatabaseServer> =>
    startDatabase({ durability: 'relaxed', env: { ...env, ...more }, log: (line) => lines.push(line) });

  // Programs that stand before the machine's own on the PATH, none of which leads to a server.
  beforeEach(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'start-database-test-'));
    programs = join(scratch, 'bin');
    await mkdir(programs);
    lines = [];
    env = {
      ...process.env,
      PATH: programs + delimiter + process.env['PATH'],
      XDG_CACHE_HOME: join(scratch, 'cache'),
      DOCKER_HOST: `unix://${scratch}/engine.sock`,
      DATABASE_URL: '',
      DATABASE_SOURCE: '',
    };
    await program('mysqld', 'echo "mysqld Ver 10.11.2-MariaDB for Linux"');
    await program('apt-get', 'echo "E: no network" >&2; exit 100');
    await program('dpkg-deb', 'exit 1');
    await program('mariadbd', 'exit 1');
  });

  afterEach(() => rm(scratch, { recursive: true }));

  it('tries a container, MySQL, Debian, MariaDB, and says what to do when all fail', async () => {
    const error = await start({}).then(() => assert.fail('found a server'), String);
    assert.match(error, /No database found\. Start Docker, or install MySQL, or set DATABASE_URL=mysql:/);
    assert.match(error, /container: no container engine answers.*mysqld: \S+ is MariaDB.*debian: .*mariadbd: /s);
    assert.deepEqual(
      lines.filter((line) => /^\w+:/.test(line)).map((line) => line.split(':')[0]),
      ['container', 'debian', 'mariadbd'],
    );
  });

  it('goes on to the next way when a server cannot be made to run', async () => {
    await program(
      'mysqld',
      'case $* in *--version*) echo "Ver 9.0.1";; *) echo "1 [ERROR] disk is full"; exit 1;; esac',
    );
    await assert.rejects(start({}), /mysqld: initialising failed \(1\): 1 \[ERROR\] disk is full\n/);
    assert.ok(lines.includes('mysqld: initialising failed (1): 1 [ERROR] disk is full'));
  });

  it('goes on to the next way when an engine answers and has no image', async () => {
    const engine = createServer((request, response) => {
      response.statusCode = request.url === '/_ping' ? 200 : 500;
      response.end('{"message":"no image today"}');
    });
    await new Promise<void>((resolve) => engine.listen(`${scratch}/engine.sock`, resolve));
    // In a process of its own, for testcontainers remembers its engine.
    const code = `
      const { startDatabase } = await import('${moduleUrl}');
      await startDatabase({ durability: 'relaxed', log: console.log }).catch((error) => console.log(error.message));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { env });
    engine.close();
    assert.match(stdout, /^container: .+\n(.+\n)*No database found/m);
  });

  it('prefers a MySQL on the PATH to one from Debian', async function () {
    const { command, options } = await findDebianMysql(process.env, () => undefined).catch(() => this.skip());
    await program('mysqld', `exec ${command.join(' ')} "$@" ${options.join(' ')}`);
    const server = await start({ XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'] });
    await server.stop();
    assert.equal(server.source, 'mysqld');
    assert.match(server.version, /^MySQL /);
  });

  it('runs a container where an engine answers', async function () {
    await findContainerEngine(process.env).catch(() => this.skip());
    const server = await start({ DOCKER_HOST: process.env['DOCKER_HOST'], DATABASE_SOURCE: 'container' });
    await server.stop();
    await server.stop();
    assert.equal(server.source, 'container');
    await assert.rejects(start({ DATABASE_URL: server.url }), /DATABASE_URL leads to no server/);
  });

  it('takes only the way that DATABASE_SOURCE names', async () => {
    await assert.rejects(start({ DATABASE_SOURCE: 'mysqld' }), /^Error: DATABASE_SOURCE=mysqld: \S+ is MariaDB$/);
    await assert.rejects(start({ DATABASE_SOURCE: 'oracle' }), /must be one of container, mysqld, debian, mariadbd/);
  });

  it('says when DATABASE_URL leads nowhere', async () => {
    const url = 'mysql://root@127.0.0.1:1';
    await assert.rejects(start({ DATABASE_URL: url }), /^Error: DATABASE_URL leads to no server: .*ECONNREFUSED/);
  });

  it('uses the server that DATABASE_URL names, and does not stop it', async () => {
    const server = await startDatabase({ durability: 'relaxed' });
    const used = await start({ DATABASE_URL: server.url });
    assert.deepEqual({ ...used, stop: undefined }, { ...server, source: 'url', stop: undefined });
    await used.stop();
    await (await start({ DATABASE_URL: server.url })).stop();
    await server.stop();
  });

  async function program(name: string, script: string): Promise<void> {
    await writeFile(join(programs, name), `#!/bin/sh\n${script}\n`);
    await chmod(join(programs, name), 0o755);
  }
});
