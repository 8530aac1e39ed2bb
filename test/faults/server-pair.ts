import type { DatabaseServer } from '../../dev/database/start-database.ts';
import { NotHereError } from '../../dev/database/server-program.ts';
import { KeptServer } from './kept-server.ts';
import { TcpLink } from './tcp-link.ts';
import type { World } from './world.ts';

const COPIER = 'copier';
/** It changes a step at a time. */
const GTID_MODES = ['OFF', 'OFF_PERMISSIVE', 'ON_PERMISSIVE', 'ON'];

/**
 * A MySQL and a copy of it: no commit is answered before the copy has it (semi-synchronous replication). Clients reach one of them, at an
 * address that stays.
 */
export class ServerPair implements DatabaseServer {
  readonly source = 'mysqld';
  readonly version: string;
  /** From the clients. */
  readonly link: TcpLink;
  #primary: KeptServer;
  #copy: KeptServer;

  private constructor(primary: KeptServer, copy: KeptServer, link: TcpLink) {
    this.version = primary.version;
    this.#primary = primary;
    this.#copy = copy;
    this.link = link;
  }

  /** @throws NotHereError where there is no MySQL. */
  static async open(log: (line: string) => void): Promise<ServerPair> {
    const [primary, copy] = await Promise.all([KeptServer.open(log), KeptServer.open(log)]);
    const pair = new ServerPair(primary, copy, await TcpLink.open());
    try {
      if (!pair.version.startsWith('mysql')) throw new NotHereError('a failover needs MySQL');
      await prepare(primary, 1);
      await prepare(copy, 2);
      await pair.follow();
      pair.#leadToPrimary();
    } catch (error) {
      await pair.stop();
      throw error;
    }
    return pair;
  }

  get url(): string {
    const url = new URL(this.#primary.url);
    url.host = this.link.address;
    return url.href;
  }

  get primary(): KeptServer {
    return this.#primary;
  }

  /** The copy copies from the primary from now on, and writes nothing else. */
  async follow(): Promise<void> {
    const { hostname, port } = new URL(this.#primary.adminUrl);
    await this.#copy.ask('SET GLOBAL super_read_only = 1');
    // Nobody copies the copy: it would wait for that.
    await this.#copy.ask('SET GLOBAL rpl_semi_sync_source_enabled = 0');
    await this.#copy.ask(
      `CHANGE REPLICATION SOURCE TO SOURCE_HOST = '${hostname}', SOURCE_PORT = ${port}, SOURCE_USER = '${COPIER}',
        SOURCE_PASSWORD = '${COPIER}', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1`,
    );
    await this.#copy.ask('START REPLICA');
    await this.#primary.ask('SET GLOBAL rpl_semi_sync_source_enabled = 1');
  }

  /** The primary takes no more writes, and the copy has all of them. */
  async freeze(): Promise<void> {
    await this.#primary.ask('SET GLOBAL super_read_only = 1');
    const [row] = await this.#primary.ask('SELECT @@gtid_executed AS gtids');
    await this.#catchUp(String(row!['gtids']));
  }

  /** The copy carries out all that it has, when its primary is gone. */
  async finish(): Promise<void> {
    await this.#copy.ask('STOP REPLICA IO_THREAD');
    const [row] = await this.#copy.ask(
      'SELECT received_transaction_set AS gtids FROM performance_schema.replication_connection_status',
    );
    await this.#catchUp(String(row!['gtids']));
  }

  /** New connections lead to the copy, which still refuses writes. Those that are there stay where they are. */
  swap(): void {
    [this.#primary, this.#copy] = [this.#copy, this.#primary];
    this.#leadToPrimary();
  }

  /** What was the copy takes writes. */
  async promote(): Promise<void> {
    await this.#primary.ask('STOP REPLICA');
    await this.#primary.ask('RESET REPLICA ALL');
    await this.#primary.ask('SET GLOBAL read_only = 0');
  }

  async stop(): Promise<void> {
    await this.link.close();
    await Promise.all([this.#primary.stop(), this.#copy.stop()]);
  }

  async #catchUp(gtids: string): Promise<void> {
    const [row] = await this.#copy.ask(`SELECT WAIT_FOR_EXECUTED_GTID_SET('${gtids}', 10) AS timed_out`);
    if (Number(row!['timed_out']) !== 0) throw new Error('the copy does not catch up');
  }

  #leadToPrimary(): void {
    this.link.leadTo(new URL(this.#primary.url).host);
  }
}

/** The world's servers. */
export function serverPairOf({ server }: World): ServerPair {
  if (server instanceof ServerPair) return server;
  throw new Error('not a pair of servers');
}

/** Either of them may copy the other. Nothing but what comes from here on is copied. */
async function prepare(server: KeptServer, id: number): Promise<void> {
  await server.ask(`SET GLOBAL server_id = ${id}`);
  await server.ask('SET GLOBAL enforce_gtid_consistency = ON');
  const [row] = await server.ask('SELECT @@gtid_mode AS mode');
  for (const mode of GTID_MODES.slice(GTID_MODES.indexOf(String(row!['mode'])) + 1)) {
    await server.ask(`SET GLOBAL gtid_mode = ${mode}`);
  }
  await server.ask(`CREATE USER ${COPIER}@'127.0.0.1' IDENTIFIED BY '${COPIER}'`);
  await server.ask(`GRANT REPLICATION SLAVE ON *.* TO ${COPIER}@'127.0.0.1'`);
  await server.ask("INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'");
  await server.ask("INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'");
  await server.ask('SET GLOBAL rpl_semi_sync_replica_enabled = 1');
  // Milliseconds until it would go on without its copy: longer than any case.
  await server.ask('SET GLOBAL rpl_semi_sync_source_timeout = 600000');
  await server.ask('RESET BINARY LOGS AND GTIDS');
}
