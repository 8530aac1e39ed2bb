import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('keep-running.sh', import.meta.url));

/** Another process uses the folder that was to be kept. */
export class FolderInUseError extends Error {}

export interface KeptCommand {
  /** Resolves to the exit status when the command has ended by itself; rejects when it could not be run. */
  ended: Promise<number>;
  /** What the command has printed so far; empty before it runs, and once the folder is gone. */
  readLog(): Promise<string>;
  /** Lets this process end although the command runs; the command ends with it. */
  unref(): void;
  /** Stops the command, cleans up the folder, and resolves when both are done. May be called again. */
  stop: () => Promise<void>;
}

/**
 * Runs a command under `keep-running.sh`, which ends it and cleans up even when this process is killed by SIGKILL.
 *
 * @param folder created when missing; gets `log` and `init.sql`
 * @param fate 'remove': the command is killed and the folder removed at the end. 'keep': the command is asked to
 *   stop, the folder stays, and one that another process has in use is refused
 */
export function keepRunning(
  folder: string,
  fate: 'remove' | 'keep',
  command: string[],
  env: NodeJS.ProcessEnv,
  initSql = '',
): KeptCommand {
  const keeper = spawn('/bin/sh', [script, folder, fate, ...command], {
    cwd: '/',
    // A session of its own, so that Ctrl-C in the terminal reaches this process only, and it decides.
    detached: true,
    env: { ...env, INIT_SQL: initSql },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let printed = '';
  const ended = new Promise<number>((resolve, reject) => {
    keeper.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      const status = /^ended (\d+)$/m.exec(printed)?.[1];
      if (status !== undefined) resolve(Number(status));
    });
    keeper.on('error', reject);
    keeper.on('close', () => {
      const owner = /^in use by (\d+)$/m.exec(printed)?.[1];
      const inUse = `${folder} is in use by process ${owner}; if that is something else, remove ${folder}/lock`;
      reject(owner === undefined ? new Error(`cannot write to ${folder}`) : new FolderInUseError(inUse));
    });
  });
  const closed = new Promise<void>((resolve) => {
    keeper.on('error', () => resolve());
    keeper.on('close', () => resolve());
  });
  // A keeper that has ended closes the pipe; that is no error of ours.
  keeper.stdin.on('error', () => undefined);
  // Pipes are sockets, though their types do not say so.
  const pipes = [keeper.stdin, keeper.stdout].filter((pipe) => pipe instanceof Socket);

  return {
    ended,
    // A kept folder holds the log of another run until ours begins.
    readLog: async () => (/^running$/m.test(printed) ? readFile(join(folder, 'log'), 'utf8').catch(() => '') : ''),
    unref: () => {
      keeper.unref();
      for (const pipe of pipes) pipe.unref();
    },
    stop: () => {
      keeper.ref();
      for (const pipe of pipes) pipe.ref();
      keeper.stdin.end();
      return closed;
    },
  };
}
