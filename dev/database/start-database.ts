import { startContainerServer } from './container-server.ts';
import { serverVersion } from './create-database.ts';
import { FolderInUseError } from './keep-running.ts';
import { startPrivateServer } from './private-server.ts';
import type { Durability } from './server-options.ts';
import { findMariadbd, findMysqld, NotHereError } from './server-program.ts';
import { findDebianMysql } from './unpack-mysql.ts';

/** Where the server comes from; 'debian' is a MySQL unpacked from Debian's packages into the cache folder. */
export type DatabaseSource = 'url' | 'container' | 'mysqld' | 'debian' | 'mariadbd';

export interface DatabaseServer {
  /** `mysql://root:password@127.0.0.1:PORT`: no database in it, and a user who may create databases. */
  url: string;
  /** What the server says it is: 'MySQL 9.7.4', 'MariaDB 10.11.19'. */
  version: string;
  source: DatabaseSource;
  /** Stops what was started here, and removes it: nothing when the source is 'url'. May be called again. */
  stop(): Promise<void>;
}

export interface StartDatabaseOptions {
  /** 'full' as in production, 'relaxed' for tests. Says nothing about a server given by `DATABASE_URL`. */
  durability: Durability;
  /**
   * A folder that keeps the data between runs, made when missing; for one process at a time. By default the data is
   * temporary.
   */
  dataDir?: string | undefined;
  /** Gets lines for people, such as 'starting MySQL 9.7.4…'; by default they are dropped. */
  log?: ((line: string) => void) | undefined;
  /** Where `DATABASE_URL`, `DATABASE_SOURCE`, `MYSQL_IMAGE` and `PATH` are read; by default `process.env`. */
  env?: NodeJS.ProcessEnv | undefined;
}

type Settings = StartDatabaseOptions & { log: (line: string) => void; env: NodeJS.ProcessEnv };
type Running = { url: string; stop: () => Promise<void> };

const ways: Record<Exclude<DatabaseSource, 'url'>, (settings: Settings) => Promise<Running>> = {
  container: (settings) => startContainerServer(settings),
  mysqld: async (settings) => startPrivateServer(await findMysqld(settings.env), settings),
  debian: async (settings) => startPrivateServer(await findDebianMysql(settings.env, settings.log), settings),
  mariadbd: async (settings) => startPrivateServer(await findMariadbd(settings.env), settings),
};

/**
 * Gives a database server for development and tests, the first of: the one that `DATABASE_URL` names, a container,
 * a MySQL on the `PATH`, a MySQL from Debian's packages, a MariaDB on the `PATH`. `DATABASE_SOURCE` names one of
 * 'container', 'mysqld', 'debian', 'mariadbd' as the only one to try when there is no `DATABASE_URL`.
 *
 * A server started here ends with this process, however that ends, and does not keep it alive.
 *
 * @throws when no way leads to a server; the message says what was tried and what to do
 */
export async function startDatabase(options: StartDatabaseOptions): Promise<DatabaseServer> {
  const settings: Settings = { ...options, log: options.log ?? (() => undefined), env: options.env ?? process.env };
  const url = settings.env['DATABASE_URL'];
  if (url) return useServer(url);

  const failures: string[] = [];
  for (const source of sourcesToTry(settings.env)) {
    try {
      return await start(source, settings);
    } catch (error) {
      // Another server on the same folder would hide the mistake behind an empty database.
      if (error instanceof FolderInUseError) throw error;
      if (settings.env['DATABASE_SOURCE'])
        throw new Error(`DATABASE_SOURCE=${source}: ${reasonOf(error)}`, { cause: error });
      const reason = `${source}: ${reasonOf(error)}`;
      failures.push(reason);
      if (!(error instanceof NotHereError)) settings.log(reason);
    }
  }
  const tried = failures.map((reason) => `  ${reason}`).join('\n');
  throw new Error(
    `No database found. Start Docker, or install MySQL, or set DATABASE_URL=mysql://root:password@127.0.0.1:3306 ` +
      `(the user must be allowed to create databases). Tried:\n${tried}`,
  );
}

async function useServer(url: string): Promise<DatabaseServer> {
  try {
    return { url, version: await serverVersion(url), source: 'url', stop: () => Promise.resolve() };
  } catch (error) {
    throw new Error(`DATABASE_URL leads to no server: ${reasonOf(error)}`, { cause: error });
  }
}

function sourcesToTry(env: NodeJS.ProcessEnv): (keyof typeof ways)[] {
  const all = Object.keys(ways) as (keyof typeof ways)[];
  const wanted = env['DATABASE_SOURCE'];
  if (!wanted) return all;
  const source = all.find((name) => name === wanted);
  if (source === undefined) throw new Error(`DATABASE_SOURCE=${wanted}: must be one of ${all.join(', ')}`);
  return [source];
}

async function start(source: keyof typeof ways, settings: Settings): Promise<DatabaseServer> {
  const { url, stop } = await ways[source](settings);
  try {
    return { url, version: await serverVersion(url), source, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** One line; Node reports a refused connection without a message. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return (error.message || ('code' in error ? String(error.code) : error.name)).replaceAll(/\s+/g, ' ');
}
