import { type DatabaseServer, startDatabase } from '../../dev/database/start-database.ts';

// Sequelize says so in plain text whenever a transaction's connection is lost, which is what many tests are about.
const { warn } = console;
console.warn = (...parts) => {
  if (!/^(Rolling back|Committing) transaction/.test(String(parts[0]))) warn(...parts);
};

let server: DatabaseServer | undefined;

/** One database server for the whole run; each suite makes databases of its own on it. */
export async function mochaGlobalSetup(): Promise<void> {
  server = await startDatabase({ durability: 'relaxed', log: (line) => process.stderr.write(`${line}\n`) });
  process.stdout.write(`\n  on ${server.version} (${server.source})\n`);
}

export async function mochaGlobalTeardown(): Promise<void> {
  await server?.stop();
  // What a test has left open would keep the run from ever ending.
  setTimeout(() => {
    process.stderr.write(`still open: ${process.getActiveResourcesInfo().join(', ')}\n`);
    process.exit(1);
  }, 10_000).unref();
}

/** The server's URL, with no database in it. */
export function serverUrl(): string {
  if (!server) throw new Error('mocha has not run the global setup');
  return server.url;
}
