import { type CommandContext, runCommand } from '../dev/run-command.ts';
import { findBrokenRules } from '../ops/audit/audit.ts';
import { Memory } from './memory.ts';
import { rows, type Row } from './rows.ts';
import { seedOrders } from './seed-orders.ts';
import { startStack, type Stack } from './stack.ts';
import { rate, type Sample, summarise, table } from './table.ts';
import { usageOf } from './usage.ts';

const options = new Set(process.argv.slice(2).filter((option) => option.startsWith('--')));
const names = process.argv.slice(2).filter((option) => !option.startsWith('--'));
const unknown = [
  ...[...options].filter((option) => !['--quick', '--json'].includes(option)),
  ...names.filter((name) => !rows.some((row) => row.name === name)),
];
if (unknown.length > 0) {
  process.stderr.write(`no ${unknown.join(', ')}; usage: npm run bench [-- [--quick] [--json] [ROW ...]]\n`);
  process.exit(2);
}
const quick = options.has('--quick');
const ROUNDS = 3;
const durationMs = quick ? 1000 : 4000;
/** Orders after which the memory is looked at the last time. */
const MEMORY_ORDERS = 200_000;

await runCommand({ name: 'bench', run, interruptedStatus: 130 });

async function run({ cleanup, print }: CommandContext): Promise<number> {
  const stack = await startStack({ cleanup, print });
  const wanted = wantedRows();
  const memory = await Memory.start(stack);
  const samples = new Map<string, Sample[]>(wanted.map((row) => [row.name, []]));
  const broken: string[] = [];
  const play = async (row: Row, round: number) => {
    progress(`round ${round} of ${ROUNDS}: ${row.name}`);
    const base = row.to === undefined ? undefined : samples.get(row.to)?.[round - 1];
    const sample = await measure(stack, row, row.load && base && row.load * rate(base));
    samples.get(row.name)!.push(sample);
    if (row.by === 'services') await memory.count(sample.count);
    if (row.by === 'floor' || round < ROUNDS || quick) return;
    progress(`auditing after ${row.name}`);
    broken.push(...(await audit(stack)).map((message) => `${row.name}: ${message}`));
  };

  await stack.load.run({ job: 'make-known', callers: 1, durationMs: 1 });
  for (let round = 1; round <= ROUNDS; round++) {
    for (const row of wanted) if (row.ordersBefore === undefined) await play(row, round);
  }
  while (!quick && names.length === 0 && memory.orders < MEMORY_ORDERS) {
    progress(`${memory.orders} of ${MEMORY_ORDERS} orders, for the memory`);
    await memory.count((await stack.load.run({ job: 'fresh', callers: 64, durationMs })).count);
  }
  await memory.finish();
  for (const row of wanted) {
    if (row.ordersBefore === undefined) continue;
    await seedOrders(stack, row.ordersBefore, progress);
    for (let round = 1; round <= ROUNDS; round++) await play(row, round);
  }
  if (quick) broken.push(...(await audit(stack)));

  progress('');
  const results = wanted.map((row) => summarise(row, samples));
  table(stack.server.version, results).forEach(print);
  memory.lines().forEach(print);
  broken.forEach((rule) => print(`BROKEN ${rule}`));
  if (options.has('--json')) {
    print(JSON.stringify({ database: stack.server.version, rows: results, memory: memory.samples, broken }));
  }
  return results.some((result) => result.errors > 0) || broken.length > 0 ? 1 : 0;
}

async function audit({ orderDb, stockDb }: Stack): Promise<string[]> {
  const findings = await findBrokenRules({ order: orderDb.sequelize, stock: stockDb.sequelize });
  return findings.map(({ message }) => message);
}

/** The rows asked for, with those that their ratios are to. */
function wantedRows(): Row[] {
  const asked = rows.filter((row) => (names.length > 0 ? names.includes(row.name) : !quick || row.quick));
  const needed = new Set(asked.flatMap((row) => [row.name, ...(row.to === undefined ? [] : [row.to])]));
  const more = rows.filter((row) => needed.has(row.name)).flatMap((row) => (row.to === undefined ? [] : [row.to]));
  return rows.filter((row) => needed.has(row.name) || more.includes(row.name));
}

async function measure(stack: Stack, row: Row, perSecond?: number): Promise<Sample> {
  const worker = row.by === 'floor' ? stack.floor : row.by === 'two' ? stack.loadOfTwo : stack.load;
  const before = await Promise.all(stack.watched.map(usageOf));
  const measured = await worker.run({ job: row.job, callers: row.callers, perSecond, durationMs });
  const after = await Promise.all(stack.watched.map(usageOf));
  for (const [text, count] of Object.entries(measured.errors)) {
    process.stderr.write(`\n${row.name}: ${count} × ${text}\n`);
  }
  // A tenth of the time does not count as jobs, but was used as well.
  const cpuUs = stack.watched.map(
    (one, i) => [one.name, (after[i]!.cpuUs - before[i]!.cpuUs) / 1.1 / measured.count] as const,
  );
  return { ...measured, cpuUs: Object.fromEntries(cpuUs) };
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  else if (text !== '') process.stderr.write(`${text}\n`);
}
