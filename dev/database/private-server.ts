import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../free-port.ts';
import { dataTemplate, firstError } from './data-template.ts';
import { keepRunning } from './keep-running.ts';
import type { KeptCommand } from './keep-running.ts';
import { privateOptions, serverOptions, userOptions } from './server-options.ts';
import type { Durability } from './server-options.ts';
import type { ServerProgram } from './server-program.ts';

const startTimeoutMs = 60_000;
const portAttempts = 3;

// $1 template, $2 data, $3 temporary files; the rest runs the server, which gives itself an id. Half a copy never looks like data.
const copyAndRun = `
[ -d "$2" ] || { rm -rf "$2.partial" && cp -R "$1" "$2.partial" && rm -f "$2.partial/auto.cnf" && mv "$2.partial" "$2"; } || exit
mkdir -p "$3" && shift 3 && exec "$@"`;

export interface PrivateServerOptions {
  durability: Durability;
  /** Kept between runs; without it the data lives in a temporary folder and ends with the server. */
  dataDir?: string | undefined;
  env: NodeJS.ProcessEnv;
  log: (line: string) => void;
}

/** Starts a server of its own: own data, own port on 127.0.0.1, own password. */
export async function startPrivateServer(
  program: ServerProgram,
  options: PrivateServerOptions,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const template = await dataTemplate(program, options.env, options.log);
  options.log(`starting ${program.kind === 'mysql' ? 'MySQL' : 'MariaDB'} ${program.version}…`);
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const password = randomBytes(12).toString('hex');
    const server = run(program, options, template, port, password);
    try {
      await waitUntilReady(server);
      server.unref();
      return { url: `mysql://root:${password}@127.0.0.1:${port}`, stop: server.stop };
    } catch (error) {
      await server.stop();
      // Between our look and the server's bind another process can take the port.
      if (attempt === portAttempts || !/bind on tcp/i.test(String(error))) throw error;
    }
  }
}

function run(
  program: ServerProgram,
  options: PrivateServerOptions,
  template: string,
  port: number,
  password: string,
): KeptCommand {
  const { dataDir, durability, env } = options;
  const temporaryFolder = join(env['TMPDIR'] || tmpdir(), `ordersystem-db-${randomUUID()}`);
  const folder = resolve(dataDir ?? temporaryFolder);
  const data = join(folder, program.kind);
  const others = join(folder, program.kind === 'mysql' ? 'mariadb' : 'mysql');
  if (existsSync(others) && !existsSync(data)) throw new Error(`${others} holds data that ${program.kind} cannot read`);
  const temporary = join(folder, 'tmp');
  const command = [
    ...['/bin/sh', '-c', copyAndRun, 'sh', template, data, temporary],
    ...[...program.command, '--no-defaults', `--datadir=${data}`, `--tmpdir=${temporary}`],
    ...[`--init-file=${join(folder, 'init.sql')}`, ...privateOptions(port), ...userOptions()],
    ...[...program.options, ...serverOptions(durability)],
  ];
  return keepRunning(folder, dataDir === undefined ? 'remove' : 'keep', command, env, grantAll(password));
}

function grantAll(password: string): string {
  const user = `root@'127.0.0.1'`;
  // One statement a line: MariaDB wants it so.
  return [
    `CREATE USER IF NOT EXISTS ${user};`,
    `ALTER USER ${user} IDENTIFIED BY '${password}';`,
    `GRANT ALL PRIVILEGES ON *.* TO ${user} WITH GRANT OPTION;`,
    '',
  ].join('\n');
}

/** Waits until the server's log says that it is ready: whoever answers on its port could be another server. */
async function waitUntilReady(server: KeptCommand): Promise<void> {
  const ended = server.ended.then(async (status) => {
    throw new Error(`the server ended (${status}): ${firstError(await server.readLog())}`);
  });
  for (const deadline = Date.now() + startTimeoutMs; Date.now() < deadline;) {
    await Promise.race([ended, sleep(20)]);
    if ((await server.readLog()).includes('ready for connections')) return;
  }
  throw new Error(`the server was not ready after ${startTimeoutMs / 1000} s: ${firstError(await server.readLog())}`);
}
