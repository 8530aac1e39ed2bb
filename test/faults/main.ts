// npm run faults [-- --quick] [--json] [--seed N] [KIND ...]
import { parseArgs } from 'node:util';
import { type CommandContext, runCommand } from '../../dev/run-command.ts';
import { brokerFaults } from './broker.ts';
import { clocks } from './clocks.ts';
import { crashes } from './crash.ts';
import { databaseFaults } from './database.ts';
import { diskFaults } from './disk.ts';
import { failover } from './failover.ts';
import type { Kind } from './kind.ts';
import { networkFaults } from './network.ts';
import { seeded } from './random.ts';
import { runKind } from './run-kind.ts';
import { type Result, table } from './table.ts';

const kinds: readonly Kind[] = [crashes, networkFaults, brokerFaults, databaseFaults, failover, diskFaults, clocks];

const { values: options, positionals: names } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    json: { type: 'boolean' },
    seed: { type: 'string' },
    only: { type: 'string' },
  },
  allowPositionals: true,
});
const unknown = names.filter((name) => !kinds.some((kind) => kind.name === name));
if (unknown.length > 0) {
  process.stderr.write(`no ${unknown.join(', ')}; kinds are ${kinds.map((kind) => kind.name).join(', ')}\n`);
  process.exit(2);
}
const seed = Number(options.seed ?? Math.floor(Math.random() * 2 ** 31));

await runCommand({ name: 'faults', run, interruptedStatus: 130 });

async function run({ cleanup, print }: CommandContext): Promise<number> {
  print(`seed ${seed}`);
  const results: Result[] = [];
  for (const kind of kinds) {
    if (names.length > 0 && !names.includes(kind.name)) continue;
    const cases = kind.cases.filter(
      (one) => (!options.quick || one.quick) && (!options.only || one.name.includes(options.only)),
    );
    results.push(await runKind({ ...kind, cases }, seeded(seed), { cleanup, print }));
  }
  table(results).forEach(print);
  const violations = results.reduce((sum, result) => sum + result.violations, 0);
  if (options.json) print(JSON.stringify({ kinds: results, violations, seed }));
  return violations > 0 ? 1 : 0;
}
