// npm run contract -- --target HOST:PORT [--stock-target …] [--http-target …] [--stock-http-target …] [--header 'name: value'] …
import { parseArgs } from 'node:util';
import { type CommandContext, runCommand } from '../../dev/run-command.ts';
import { everyCheck } from './every-check.ts';
import { runChecks } from './run-checks.ts';
import { readTargets, USAGE } from './targets.ts';

const { values } = parseArgs({
  options: {
    target: { type: 'string' },
    'stock-target': { type: 'string' },
    'http-target': { type: 'string' },
    'stock-http-target': { type: 'string' },
    header: { type: 'string', multiple: true },
    'stock-header': { type: 'string', multiple: true },
    ca: { type: 'string' },
  },
});
const wanted = readTargets(values);
if (typeof wanted === 'string') {
  process.stderr.write(`${wanted}\n${USAGE}\n`);
  process.exit(2);
}
const { targets, headers } = wanted;

await runCommand({ name: 'contract', run, interruptedStatus: 130 });

async function run({ cleanup, print }: CommandContext): Promise<number> {
  const { checks, skipped } = everyCheck(targets, headers, cleanup);
  let failed = 0;
  for await (const { name, caller, failure } of runChecks(checks)) {
    if (failure !== undefined) failed++;
    print(`${failure === undefined ? 'ok  ' : 'FAIL'}  ${caller.padEnd(30)}  ${name}`);
    if (failure !== undefined) print(failure.replaceAll(/^/gm, '      '));
  }
  for (const why of skipped) print(`skip  ${why}`);
  print(`${checks.length} checks, ${failed} failed`);
  return failed > 0 ? 1 : 0;
}
