import { createConnection } from 'mysql2/promise';

/**
 * Creates an empty database whose text is utf8mb4, and returns its url.
 *
 * @param serverUrl as in `DatabaseServer.url`; the name of a database in it is not used
 * @throws when a database of that name exists
 */
export async function createDatabase(serverUrl: string, name: string): Promise<string> {
  await execute(serverUrl, `CREATE DATABASE ${quote(name)} CHARACTER SET utf8mb4`);
  const url = new URL(serverUrl);
  url.pathname = `/${encodeURIComponent(name)}`;
  return url.href;
}

/** Drops the database with all that is in it; nothing happens when there is none of that name. */
export async function dropDatabase(serverUrl: string, name: string): Promise<void> {
  await execute(serverUrl, `DROP DATABASE IF EXISTS ${quote(name)}`);
}

/** What the server says it is, as people say it: 'MySQL 9.7.4', 'MariaDB 10.11.19'. */
export async function serverVersion(serverUrl: string): Promise<string> {
  const rows = await execute(serverUrl, 'SELECT VERSION() AS version');
  const version = String((rows as { version: string }[])[0]?.version);
  const number = /\d+\.\d+\.\d+/.exec(version)?.[0] ?? version;
  return `${/mariadb/i.test(version) ? 'MariaDB' : 'MySQL'} ${number}`;
}

async function execute(serverUrl: string, sql: string): Promise<unknown> {
  const url = new URL(serverUrl);
  url.pathname = '';
  const connection = await createConnection(url.href);
  try {
    const [rows] = await connection.query(sql);
    return rows;
  } finally {
    await connection.end();
  }
}

function quote(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}
