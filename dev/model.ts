import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile } from 'node:fs/promises';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// docs/model/README.md says what is checked.
const model = fileURLToPath(new URL('../docs/model/order.pml', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'ordersystem-model-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** What the program has printed. Undefined: there is no such program. */
async function run(program: string, ...args: string[]): Promise<string | undefined> {
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  try {
    const [status] = (await once(child, 'close')) as [number | null];
    if (status !== 0) throw new Error(`${program} ended with ${status}:\n${output}`);
    return output;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Every interleaving, or up to the first that breaks something. */
async function check(define?: string): Promise<{ broken: string | undefined; states: string; seconds: string }> {
  await run('spin', ...(define ? [`-D${define}`] : []), '-a', model);
  await run('cc', '-O2', '-w', '-DSAFETY', '-DCOLLAPSE', '-o', 'pan', 'pan.c');
  const output = (await run(join(folder, 'pan'), '-m200000'))!;
  const found = (pattern: RegExp) => pattern.exec(output)?.[1] ?? '?';
  const broken = /^pan:\d+: (.*)$/m.exec(output)?.[1];
  if (found(/max search depth (too small)/) !== '?') throw new Error('the search was not deep enough');
  return { broken, states: found(/^\s*(\d+) states, stored/m), seconds: found(/elapsed time (\S+) s/) };
}

for (const program of ['spin', 'cc']) {
  if ((await run(program, program === 'cc' ? '--version' : '-V')) !== undefined) continue;
  console.log(`skipped: this machine has no ${program}; Debian has it: apt-get install spin gcc`);
  process.exit(0);
}
const mutants = new Set((await readFile(model, 'utf8')).match(/\bMUTANT_\w+/g));
for (const mutant of [undefined, ...mutants]) {
  const { broken, states, seconds } = await check(mutant);
  const right = mutant === undefined ? broken === undefined : broken !== undefined;
  const what = broken === undefined ? 'nothing broken' : 'broken, as it must be';
  console.log(
    `${right ? 'ok  ' : 'FAIL'}  ${(mutant ?? 'the model').padEnd(32)} ${states.padStart(9)} states ${seconds.padStart(6)} s  ${right ? what : (broken ?? 'nothing found')}`,
  );
  if (!right) process.exitCode = 1;
}
