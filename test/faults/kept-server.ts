import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';
import type { DatabaseServer } from '../../dev/database/start-database.ts';
import { startPrivateServer } from '../../dev/database/private-server.ts';
import type { Durability } from '../../dev/database/server-options.ts';
import { findMariadbd, findMysqld, type ServerProgram } from '../../dev/database/server-program.ts';
import { findDebianMysql } from '../../dev/database/unpack-mysql.ts';
import type { SmallDisk } from './small-disk.ts';
import { TcpLink } from './tcp-link.ts';
import type { World } from './world.ts';

// A user that outlives the server's process, unlike root's password. It has no right to write to a server that is read-only.
const USER = 'faults';

/** A database server that keeps its data and its address when its process is killed and started again. Nothing it committed is lost. */
export class KeptServer implements DatabaseServer {
  readonly source = 'mysqld';
  readonly version: string;
  readonly #program: ServerProgram;
  readonly #dataDir: string;
  readonly #link: TcpLink;
  readonly #log: (line: string) => void;
  readonly #disk: SmallDisk | undefined;
  #admin: Connection | undefined;
  #running: { url: string; stop: () => Promise<void> } | undefined;

  private constructor(
    program: ServerProgram,
    dataDir: string,
    link: TcpLink,
    log: (line: string) => void,
    disk: SmallDisk | undefined,
  ) {
    this.version = `${program.kind} ${program.version}`;
    this.#program = program;
    this.#dataDir = dataDir;
    this.#link = link;
    this.#log = log;
    this.#disk = disk;
  }

  /** @param disk holds its data, and goes with it. Default: the machine's own. */
  static async open(log: (line: string) => void, disk?: SmallDisk): Promise<KeptServer> {
    const program = await findMysqld(process.env)
      .catch(() => findDebianMysql(process.env, log))
      .catch(() => findMariadbd(process.env));
    const dataDir = disk ? join(disk.folder, 'kept') : await mkdtemp(join(tmpdir(), 'ordersystem-kept-'));
    const server = new KeptServer(program, dataDir, await TcpLink.open(), log, disk);
    await server.start();
    await server.ask(`CREATE USER ${USER}@'127.0.0.1' IDENTIFIED BY '${USER}'`);
    await server.ask(`GRANT ALL PRIVILEGES ON \`faults\\_%\`.* TO ${USER}@'127.0.0.1'`);
    return server;
  }

  get url(): string {
    return `mysql://${USER}:${USER}@${this.#link.address}`;
  }

  /** For somebody who may do anything: past the link, and only until the next start. */
  get adminUrl(): string {
    return this.#running!.url;
  }

  /** @param durability a disk of its own is in memory, where nothing is gained by 'full' but a binlog. */
  async start(durability: Durability = this.#disk ? 'relaxed' : 'full'): Promise<void> {
    this.#running = await startPrivateServer(this.#program, {
      durability,
      dataDir: this.#dataDir,
      env: process.env,
      log: this.#log,
    });
    // Stays: a server that has no connection left still does what it is told.
    this.#admin = await createConnection(this.#running.url);
    // It ends with the server.
    this.#admin.on('error', () => {});
    this.#link.leadTo(new URL(this.#running.url).host);
  }

  /** Sends its process a signal. After one that ends it, `start` again. */
  async signal(signal: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    const pid = Number(await readFile(join(this.#dataDir, this.#program.kind, 'server.pid'), 'utf8'));
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8');
    if (!command.includes(this.#dataDir)) throw new Error(`process ${pid} is not the server`);
    process.kill(pid, signal);
    if (signal === 'SIGSTOP' || signal === 'SIGCONT') return;
    while (isThere(pid)) await sleep(10);
    await this.#running!.stop();
  }

  /** One statement of somebody who may do anything. Returns its rows. */
  async ask(sql: string): Promise<RowDataPacket[]> {
    const [rows] = await this.#admin!.query<RowDataPacket[]>(sql);
    return rows;
  }

  /** Returns how many sessions it has killed: those of the services and of the audit, who are the same user. */
  async killSessions(): Promise<number> {
    const sessions = await this.ask(`SELECT id AS id FROM information_schema.processlist WHERE user = '${USER}'`);
    let killed = 0;
    for (const { id } of sessions) {
      // Some end by themselves meanwhile.
      const done = await this.ask(`KILL ${String(id)}`).catch(() => undefined);
      if (done) killed++;
    }
    return killed;
  }

  async stop(): Promise<void> {
    this.#admin?.destroy();
    await this.#running?.stop();
    await this.#link.close();
    await rm(this.#dataDir, { recursive: true, force: true });
    await this.#disk?.unmount();
  }
}

/** The world's server, which can be killed. */
export function keptServerOf({ server }: World): KeptServer {
  if (server instanceof KeptServer) return server;
  throw new Error('not a server that can be killed');
}

/** Fails when whoever connects to the world's server now may write there. */
export async function expectReadOnly({ server, stockDb }: World): Promise<void> {
  const connection = await createConnection(`${server!.url}/${stockDb.sequelize.getDatabaseName()}`);
  const refusal = await connection.query('UPDATE t_stock SET title = title').then(
    () => undefined,
    (error: unknown) => error as { errno?: number },
  );
  connection.destroy();
  if (refusal?.errno !== 1290) throw new Error('the server is not read-only');
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
