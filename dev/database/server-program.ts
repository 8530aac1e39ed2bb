import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

export interface ServerProgram {
  kind: 'mysql' | 'mariadb';
  /** Three numbers: '9.7.4'. */
  version: string;
  /** The words that run the server. */
  command: string[];
  /** Server options that this build needs wherever it is run. */
  options: string[];
}

/** Says that a way to a database does not exist on this machine, which is nothing to report, unlike a failure. */
export class NotHereError extends Error {}

/** Finds a program on `PATH`, and in `/usr/sbin`, which an ordinary user's `PATH` lacks. */
export async function findProgram(name: string, env: NodeJS.ProcessEnv): Promise<string> {
  for (const folder of [...(env['PATH'] ?? '').split(delimiter), '/usr/sbin']) {
    const path = join(folder, name);
    const executable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (folder !== '' && executable) return path;
  }
  throw new NotHereError(`no ${name} on the PATH`);
}

/** Asks the program itself what it is: a file named `mysqld` is often a link to MariaDB's server. */
export async function inspectProgram(command: string[], options: string[]): Promise<ServerProgram> {
  const [file = '', ...words] = command;
  const { stdout } = await promisify(execFile)(file, [...words, '--no-defaults', '--version']);
  const version = /Ver (\d+\.\d+\.\d+)/.exec(stdout)?.[1];
  if (version === undefined) throw new Error(`${command.join(' ')} --version says: ${stdout.trim()}`);
  return { kind: /mariadb/i.test(stdout) ? 'mariadb' : 'mysql', version, command, options };
}

/** The `mysqld` of this machine, when it is a real MySQL. */
export async function findMysqld(env: NodeJS.ProcessEnv): Promise<ServerProgram> {
  const path = await findProgram('mysqld', env);
  const program = await inspectProgram([path], []);
  if (program.kind !== 'mysql') throw new NotHereError(`${path} is MariaDB`);
  return program;
}

/** The `mariadbd` of this machine. */
export async function findMariadbd(env: NodeJS.ProcessEnv): Promise<ServerProgram> {
  return inspectProgram([await findProgram('mariadbd', env)], []);
}
