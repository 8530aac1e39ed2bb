import { availableParallelism } from 'node:os';
import { contractBreaks } from './check/contract-breaks.ts';
import { licenses } from './check/licenses.ts';
import { type Outcome, runTool } from './check/run-tool.ts';
import { staleCode } from './check/stale-code.ts';

/** What `npm run check` runs, the slow ones first; `npm run check -- types lint` runs some. */
const steps: Record<string, () => Promise<Outcome>> = {
  lint: () => runTool('eslint', '--max-warnings=0', '.'),
  generated: staleCode,
  types: () => runTool('tsc', '-p', '.'),
  'page-types': () => runTool('tsc', '-p', 'examples/checkout/page'),
  format: () => runTool('prettier', '--check', '--log-level=warn', '.'),
  imports: () => runTool('depcruise', '--config=.dependency-cruiser.js', '--output-type=err-long', '.'),
  breaking: contractBreaks,
  licenses,
  'proto-lint': () => runTool('buf', 'lint'),
  'proto-format': () => runTool('buf', 'format', '--diff', '--exit-code'),
};

async function report(name: string): Promise<void> {
  const start = performance.now();
  const { ok, output, note } = await steps[name]!().catch((error: unknown): Outcome => ({
    ok: false,
    output: String(error),
  }));
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${ok ? 'ok  ' : 'FAIL'}  ${name.padEnd(12)}  ${seconds} s${note === undefined ? '' : `  ${note}`}`);
  if (ok) return;
  console.log(output.trimEnd());
  process.exitCode = 1;
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(steps, name));
if (unknown.length > 0) {
  console.error(`no step ${unknown.join(', ')}: the steps are ${Object.keys(steps).join(', ')}`);
  process.exit(2);
}

const queue = wanted.length > 0 ? wanted : Object.keys(steps);
async function work(): Promise<void> {
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) await report(name);
}
await Promise.all(Array.from({ length: availableParallelism() }, work));
