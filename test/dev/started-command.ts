import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A command of dev/ as a process of its own. What it starts is known by a mark in its environment, which all inherit. */
export class StartedCommand {
  output = '';
  errors = '';
  /** Resolves to the exit status; null after a signal. */
  readonly ended: Promise<number | null>;
  readonly #process: ChildProcessByStdio<null, Readable, Readable>;
  readonly #mark = `STARTED_COMMAND=${randomUUID()}`;

  constructor(file: string, args: string[] = [], env: NodeJS.ProcessEnv = {}) {
    const [name = '', value] = this.#mark.split('=');
    this.#process = spawn(process.execPath, [file, ...args], {
      cwd: root,
      env: { ...process.env, ...env, [name]: value },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process.stdout.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => (this.errors += text));
    this.ended = once(this.#process, 'close').then(([status]) => status as number | null);
  }

  get lines(): string[] {
    return this.output.trimEnd().split('\n');
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Waits until it has printed a line that matches. */
  async line(pattern: RegExp): Promise<string> {
    for (;;) {
      const line = this.lines.find((text) => pattern.test(text));
      if (line !== undefined) return line;
      const status = await Promise.race([sleep(10, 'runs'), this.ended]);
      assert.equal(status, 'runs', `it ended without printing ${pattern}:\n${this.output}${this.errors}`);
    }
  }

  /** The ids of its process, and of all that came of it, whose command matches; empty where there is no /proc. */
  async pids(pattern = /./): Promise<number[]> {
    const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
    const read = (id: string, file: string) => readFile(`/proc/${id}/${file}`, 'utf8').catch(() => '');
    const found: number[] = [];
    for (const id of ids) {
      if (!(await read(id, 'environ')).split('\0').includes(this.#mark)) continue;
      if (pattern.test(await read(id, 'cmdline'))) found.push(Number(id));
    }
    return found;
  }

  /** Nothing that it started is there any more. What ends by itself, such as a shell's `sleep`, gets a moment to do so. */
  async leavesNothing(patienceMs = 500): Promise<void> {
    for (const end = Date.now() + patienceMs; Date.now() < end && (await this.pids()).length > 0;) await sleep(50);
    assert.deepEqual(await this.pids(), []);
  }
}
