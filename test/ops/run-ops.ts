import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { databaseUrlOf, type System } from '../support/system.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** What came of a command. */
export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `ordersystem` as a process of its own, with nothing of this one's environment but PATH, and no terminal. */
export function runOps(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return run(process.execPath, ['ops/main.ts', ...args], env);
}

/** Runs it at a terminal, at which somebody types this. Both outputs are one there. */
export function runOpsAtTerminal(args: readonly string[], env: NodeJS.ProcessEnv, typed: string): Promise<Ended> {
  const command = [process.execPath, 'ops/main.ts', ...args].map((word) => `'${word}'`).join(' ');
  return run('script', ['--quiet', '--return', '--command', command, '/dev/null'], env, typed);
}

export async function run(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  input?: string,
): Promise<Ended> {
  const child = spawn(command, args, { cwd: root, env: { PATH: process.env['PATH'], ...env } });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
    // Nobody types before he is asked.
    if (input !== undefined && stdout.includes('[y/N]')) child.stdin.end(input);
  });
  child.stderr.on('data', (chunk) => (stderr += String(chunk)));
  if (input === undefined) child.stdin.end();
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stdout, stderr };
}

/** The environment in which the commands find a system. */
export function opsEnv({ orderDb, stockDb, stockAddress }: System): Record<string, string> {
  return {
    ORDER_DATABASE_URL: databaseUrlOf(orderDb),
    STOCK_DATABASE_URL: databaseUrlOf(stockDb),
    STOCK_TARGET: stockAddress,
  };
}
