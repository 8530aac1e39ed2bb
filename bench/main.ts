import { findBrokenRules } from '../dev/audit.ts';
import { type CommandContext, runCommand } from '../dev/run-command.ts';
import { rows, type Row } from './rows.ts';
import { seedOrders } from './seed-orders.ts';
import { startStack, type Stack } from './stack.ts';
import { type Sample, summarise, table } from './table.ts';
import { usageOf } from './usage.ts';
import type { Measured } from './worker.ts';

const options = new Set(process.argv.slice(2).filter((option) => option.startsWith('--')));
const names = process.argv.slice(2).filter((option) => !option.startsWith('--'));
const usage = 'usage: npm run bench [-- [--quick] [--json] [ROW ...]]';
if ([...options].some((option) => !['--quick', '--json'].includes(option))) {
  process.stderr.write(`${usage}\n`);
  process.exit(2);
}
const quick = options.has('--quick');
const ROUNDS = 3;
const durationMs = quick ? 1000 : 4000;

await runCommand({ name: 'bench', run, interruptedStatus: 130 });

async function run(context: CommandContext): Promise<number> {
  const stack = await startStack(context);
  const wanted = wantedRows();
  await stack.load.run({ job: 'make-known', callers: 1, durationMs: 1 });
  const samples = new Map<string, Sample[]>(wanted.map((row) => [row.name, []]));
  const broken: string[] = [];
  const measureRow = async (row: Row, round: number) => {
    progress(`round ${round} of ${ROUNDS}: ${row.name}`);
    samples.get(row.name)!.push(await measure(stack, row));
    if (row.by === 'floor' || quick) return;
    broken.push(...(await settledRules(stack)).map((rule) => `${row.name}: ${rule}`));
  };
  for (let round = 1; round <= ROUNDS; round++) {
    for (const row of wanted) if (row.ordersBefore === undefined) await measureRow(row, round);
  }
  for (const row of wanted) {
    if (row.ordersBefore === undefined) continue;
    await seedOrders(stack, row.ordersBefore, progress);
    for (let round = 1; round <= ROUNDS; round++) await measureRow(row, round);
  }
  if (quick) broken.push(...(await settledRules(stack)));
  progress('');
  const results = wanted.map((row) => summarise(row, samples));
  table(stack.server.version, results).forEach(context.print);
  broken.forEach((rule) => context.print(`BROKEN ${rule}`));
  const errors = results.reduce((sum, result) => sum + result.errors, 0);
  if (options.has('--json')) context.print(JSON.stringify({ database: stack.server.version, rows: results }));
  return errors > 0 || broken.length > 0 ? 1 : 0;
}

/** The rows asked for, with those that their ratios are to. */
function wantedRows(): Row[] {
  const asked = rows.filter((row) => (names.length > 0 ? names.includes(row.name) : !quick || row.quick));
  const needed = new Set(asked.flatMap((row) => [row.name, ...(row.to === undefined ? [] : [row.to])]));
  return rows.filter((row) => needed.has(row.name));
}

async function measure(stack: Stack, row: Row): Promise<Sample> {
  const worker = row.by === 'floor' ? stack.floor : row.by === 'two' ? stack.loadOfTwo : stack.load;
  const before = await Promise.all(stack.watched.map(usageOf));
  const measured: Measured = await worker.run({ job: row.job, callers: row.callers, durationMs });
  const after = await Promise.all(stack.watched.map(usageOf));
  const cpuUs = stack.watched.map(
    (one, i) => [one.name, (after[i]!.cpuUs - before[i]!.cpuUs) / 1.1 / measured.count] as const,
  );
  for (const [text, count] of Object.entries(measured.errors))
    process.stderr.write(`\n${row.name}: ${count} × ${text}\n`);
  return { ...measured, cpuUs: Object.fromEntries(cpuUs) };
}

/** What the audit finds once nothing is in work any more. */
async function settledRules({ orderDb, stockDb }: Stack): Promise<string[]> {
  return findBrokenRules(orderDb, stockDb);
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
  else if (text !== '') process.stderr.write(`${text}\n`);
}
