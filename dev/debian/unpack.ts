import { execFile } from 'node:child_process';
import { realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cacheFolder } from '../cache-folder.ts';
import { findProgram } from '../database/server-program.ts';

const script = fileURLToPath(new URL('unpack.sh', import.meta.url));

/** A program that one of Debian's packages has. */
export interface DebianProgram {
  /** The tree's name in the cache folder. */
  tree: string;
  package: string;
  /** The program's path in the tree. */
  program: string;
  /** What is downloaded, for people: `MySQL from Debian (60 MB, once)`. */
  what: string;
}

/**
 * Unpacks a package of Debian into the cache folder, once, and returns the tree's path. Remove the tree to get a newer version.
 *
 * @throws NotHereError on a machine without apt.
 */
export async function unpack(
  wanted: DebianProgram,
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<string> {
  const tree = join(cacheFolder(env), wanted.tree);
  const unpacked = await stat(tree).then(
    () => true,
    () => false,
  );
  if (unpacked) return tree;
  for (const tool of ['apt-get', 'dpkg-deb', 'flock']) await findProgram(tool, env);
  log(`downloading ${wanted.what}…`);
  try {
    const args = [script, tree, wanted.package, wanted.program];
    await promisify(execFile)('/bin/sh', args, { env: { ...env, LC_ALL: 'C' } });
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(stderr?.trim().split('\n').at(-1) || message, { cause: error });
  }
  return tree;
}

/** The words that run the tree's program with the tree's own libraries. */
export async function commandIn(tree: string, { program }: DebianProgram): Promise<string[]> {
  const loader = await realpath(join(tree, 'loader'));
  return [loader, '--library-path', dirname(loader), join(tree, program)];
}
