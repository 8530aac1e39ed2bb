import { commandIn, type DebianProgram, unpack } from '../debian/unpack.ts';
import { inspectProgram } from './server-program.ts';
import type { ServerProgram } from './server-program.ts';

const mysql: DebianProgram = {
  tree: 'mysql-debian',
  package: 'mysql-server-core',
  program: 'usr/sbin/mysqld',
  what: 'MySQL from Debian (60 MB, once)',
};

/** A real MySQL, unpacked from Debian's packages into the cache folder, run with its own libraries. */
export async function findDebianMysql(env: NodeJS.ProcessEnv, log: (line: string) => void): Promise<ServerProgram> {
  const tree = await unpack(mysql, env, log);
  return inspectProgram(await commandIn(tree, mysql), [
    `--basedir=${tree}/usr`,
    `--lc-messages-dir=${tree}/usr/share/mysql`,
    '--secure-file-priv=NULL',
  ]);
}

// `node dev/database/unpack-mysql.ts` unpacks the tree when it is missing, and prints its path.
if (process.argv[1] === import.meta.filename) console.log(await unpack(mysql, process.env, console.error));
