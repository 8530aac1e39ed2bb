import { execFile } from 'node:child_process';
import { realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheFolder } from './cache-folder.ts';
import { findProgram, inspectProgram } from './server-program.ts';
import type { ServerProgram } from './server-program.ts';

const script = fileURLToPath(new URL('unpack-mysql.sh', import.meta.url));

/**
 * Unpacks a real MySQL from Debian's packages into the cache folder, once, and returns the tree's path. Remove the
 * tree to get a newer MySQL.
 */
export async function unpackMysql(env: NodeJS.ProcessEnv, log: (line: string) => void): Promise<string> {
  const tree = join(cacheFolder(env), 'mysql-debian');
  const unpacked = await stat(tree).then(
    () => true,
    () => false,
  );
  if (unpacked) return tree;
  for (const tool of ['apt-get', 'dpkg-deb', 'flock']) await findProgram(tool, env);
  log('downloading MySQL from Debian (60 MB, once)…');
  try {
    await promisify(execFile)('/bin/sh', [script, tree], { env: { ...env, LC_ALL: 'C' } });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(stderr?.trim().split('\n').at(-1) || message, { cause: error });
  }
  return tree;
}

/** The server in that tree, run with the tree's own libraries. */
export async function findDebianMysql(env: NodeJS.ProcessEnv, log: (line: string) => void): Promise<ServerProgram> {
  const tree = await unpackMysql(env, log);
  const loader = await realpath(join(tree, 'loader'));
  return inspectProgram(
    [loader, '--library-path', dirname(loader), join(tree, 'usr/sbin/mysqld')],
    [`--basedir=${tree}/usr`, `--lc-messages-dir=${tree}/usr/share/mysql`, '--secure-file-priv=NULL'],
  );
}

// `node dev/database/unpack-mysql.ts` unpacks the tree when it is missing, and prints its path.
if (process.argv[1] === import.meta.filename) console.log(await unpackMysql(process.env, console.error));
