// How long it takes until 100,000 orders that nobody has paid are cancelled and their stock is back, and what CreateOrder at 64 callers
// is like meanwhile: node bench/expiry.ts [ORDERS]
import { findBrokenRules } from '../dev/audit.ts';
import { type CommandContext, runCommand } from '../dev/run-command.ts';
import { execute, select } from '../runtime/db/statements.ts';
import { seedOrders } from './seed-orders.ts';
import { startStack, type Stack } from './stack.ts';
import { type Measured, percentile } from './worker.ts';

const ORDERS = Number(process.argv[2] ?? 100_000);
const WORK = { job: 'fresh', callers: 64, durationMs: 4000 };

await runCommand({ name: 'expiry', run, interruptedStatus: 130 });

async function run({ cleanup, print }: CommandContext): Promise<number> {
  const stack = await startStack({ cleanup, print });
  await seedOrders(stack, ORDERS, print);
  print(line('before', await stack.load.run(WORK)));

  await execute(stack.orderDb.sequelize, 'UPDATE t_order SET create_time = create_time - INTERVAL 1 DAY', []);
  const startMs = performance.now();
  const seconds = () => `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
  const over = untilNone(
    stack,
    "t_order WHERE status = 'WAIT_PAY' AND create_time < UTC_TIMESTAMP() - INTERVAL 30 MINUTE",
  );
  const restored = untilNone(stack, "t_event_record WHERE status = 'WAIT' AND event_type = 'STOCK_RESTORE'", over);
  void over.then(() => print(`all cancelled after ${seconds()}`));
  let working = true;
  void restored.finally(() => (working = false));
  while (working) print(line(`until ${seconds()}`, await stack.load.run(WORK)));
  await restored;
  print(`all stock given back after ${seconds()}`);
  print(line('after', await stack.load.run(WORK)));

  const broken = await findBrokenRules(stack.orderDb, stack.stockDb);
  broken.forEach((rule) => print(`BROKEN ${rule}`));
  return broken.length > 0 ? 1 : 0;
}

async function untilNone({ orderDb }: Stack, rows: string, after: Promise<unknown> = Promise.resolve()): Promise<void> {
  await after;
  while ((await select(orderDb.sequelize, `SELECT 1 FROM ${rows} LIMIT 1`, [])).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function line(when: string, { count, durationMs, latenciesMs, errors }: Measured): string {
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(latenciesMs, share).toFixed(1));
  const failed = Object.entries(errors).map(([text, times]) => `, ${times} × ${text}`);
  return `${when}: ${Math.round(count / (durationMs / 1000))} orders/s, p50 ${p50} ms, p99 ${p99} ms${failed.join('')}`;
}
