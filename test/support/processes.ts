import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A service in a process of its own. */
export interface ServiceProcess {
  readonly child: ChildProcess;
  /** What it has written to standard output so far: one JSON object a line. */
  readonly lines: Record<string, unknown>[];
  /** What it has written to standard error so far. */
  readonly stderr: () => string;
  /** Where it listens, when it serves. Rejects when it ends before it does. */
  readonly address: Promise<string>;
  /** How it ended: its exit code, or the signal that killed it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
}

/** Starts `order-svc/main.ts` or `stock-svc/main.ts` with nothing of this process's environment but PATH. */
export function startProcess(service: 'order-svc' | 'stock-svc', env: Record<string, string>): ServiceProcess {
  const child = spawn(process.execPath, [`${service}/main.ts`], {
    env: { PATH: process.env['PATH'], LISTEN_ADDRESS: '127.0.0.1:0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: Record<string, unknown>[] = [];
  const started = Promise.withResolvers<string>();
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += String(chunk)));
  createInterface(child.stdout).on('line', (line) => {
    const entry = JSON.parse(line) as Record<string, unknown>;
    lines.push(entry);
    if (entry['message'] === 'started') started.resolve(String(entry['address']));
  });
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals | null);
  void ended.then((how) => started.reject(new Error(`${service} ended with ${how}: ${stderr}`)));
  started.promise.catch(() => {});
  return { child, lines, stderr: () => stderr, address: started.promise, ended };
}
