import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';

export interface Outcome {
  ok: boolean;
  /** What to show when it failed. */
  output: string;
  /** What to say even when it passed: why there was nothing to do. */
  note?: string;
}

export const root = join(import.meta.dirname, '../..');

// So that the tools, and what they start, run on the project's own Node without npm too.
const env = { ...process.env, PATH: join(root, 'node_modules/.bin') + delimiter + (process.env['PATH'] ?? '') };

/** Runs a program in the project's root. */
export function runTool(name: string, ...args: string[]): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const collect = (text: string): void => void (output += text);
    child.stdout.setEncoding('utf8').on('data', collect);
    child.stderr.setEncoding('utf8').on('data', collect);
    child.on('error', reject);
    child.on('close', (code) => resolve({ ok: code === 0, output }));
  });
}
