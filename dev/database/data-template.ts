import { randomUUID } from 'node:crypto';
import { mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from '../cache-folder.ts';
import { keepRunning } from './keep-running.ts';
import { userOptions } from './server-options.ts';
import { findProgram } from './server-program.ts';
import type { ServerProgram } from './server-program.ts';

/**
 * An initialised data folder of this server's version, to be copied: initialising takes seconds, copying 50 ms.
 * Made on the first call and kept in the cache folder; safe when several processes make it at once.
 */
export async function dataTemplate(
  program: ServerProgram,
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
): Promise<string> {
  const cache = cacheFolder(env);
  const template = join(cache, `data-${program.kind}-${program.version}`);
  if (await exists(template)) return template;

  log('preparing an empty database (a few seconds, once)…');
  await mkdir(cache, { recursive: true });
  const partial = `${template}.${randomUUID()}.partial`;
  const initialising = keepRunning(partial, 'remove', await initialiser(program, join(partial, 'data'), env), env);
  try {
    const status = await initialising.ended;
    if (status !== 0) throw new Error(`initialising failed (${status}): ${firstError(await initialising.readLog())}`);
    // Loses against another process that was faster, whose template is as good.
    await rename(join(partial, 'data'), template).catch(async (error: unknown) => {
      if (!(await exists(template))) throw error;
    });
  } finally {
    await initialising.stop();
  }
  return template;
}

async function initialiser(program: ServerProgram, folder: string, env: NodeJS.ProcessEnv): Promise<string[]> {
  const options = [
    `--datadir=${folder}`,
    ...userOptions(),
    ...program.options,
    '--skip-log-bin',
    '--innodb-doublewrite=OFF',
  ];
  if (program.kind === 'mysql') {
    const small = '--loose-innodb-redo-log-capacity=32M';
    return [...program.command, '--no-defaults', '--initialize-insecure', ...options, small];
  }
  const installer = await findProgram('mariadb-install-db', env);
  const plain = ['--skip-test-db', '--auth-root-authentication-method=normal', '--skip-name-resolve'];
  return [installer, '--no-defaults', ...plain, ...options];
}

/** The line of a server's log that says best what went wrong. */
export function firstError(log: string): string {
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  return lines.find((line) => /\[ERROR\]/i.test(line)) ?? lines.at(-1) ?? 'it printed nothing';
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
