import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createDatabase } from '../dev/database/create-database.ts';
import { startDatabase } from '../dev/database/start-database.ts';
import { type CommandContext, runCommand } from '../dev/run-command.ts';
import { orderMigrations } from '../order-svc/db/migrations.ts';
import { openOrderDb } from '../order-svc/db/models.ts';
import { migrate } from '../runtime/db/migrate.ts';
import { silentLogger } from '../runtime/lifecycle/logger.ts';
import { stockTables } from '../stock-svc/db/migrations/001-stock.ts';
import { openStockDb, type StockDb } from '../stock-svc/db/models.ts';
import { seedOrders } from './seed-orders.ts';

const orders = Number(process.argv[2] ?? 1_000_000);
if (process.argv.length > 3 || !(orders >= 50_000)) {
  process.stderr.write('usage: node bench/audit.ts [ORDERS, a multiple of 50000; default 1000000]\n');
  process.exit(2);
}

await runCommand({ name: 'bench', run, interruptedStatus: 130 });

/** How long `ordersystem audit` takes over so many orders, and how much memory. */
async function run({ cleanup, print }: CommandContext): Promise<number> {
  const server = await startDatabase({ durability: 'full', log: print });
  cleanup.defer(() => server.stop());
  const urls = {
    order: await createDatabase(server.url, 'bench_audit_order'),
    stock: await createDatabase(server.url, 'bench_audit_stock'),
  };
  const orderDb = openOrderDb({ url: urls.order });
  const stockDb = openStockDb({ url: urls.stock });
  for (const { sequelize } of [orderDb, stockDb]) cleanup.defer(() => sequelize.close());
  await migrate(orderDb.sequelize, orderMigrations, silentLogger);
  await migrate(stockDb.sequelize, [stockTables], silentLogger);
  await fillShelves(stockDb);
  await seedOrders({ orderDb, stockDb }, orders, (text) => process.stderr.write(`${text}\n`));
  for (let round = 1; round <= 3; round++) print(await audit(urls));
  return 0;
}

/** Runs the command as a process of its own. */
async function audit(urls: { order: string; stock: string }): Promise<string> {
  const main = fileURLToPath(new URL('../ops/main.ts', import.meta.url));
  const env = { ...process.env, ORDER_DATABASE_URL: urls.order, STOCK_DATABASE_URL: urls.stock };
  let peak = 'unknown';
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, [main, 'audit', '--json'], { env }, (error, stdout) => {
      clearInterval(timer);
      if (error) reject(new Error(`the audit failed: ${stdout}`, { cause: error }));
      else resolve(`${stdout.trim()} peak memory ${peak}`);
    });
    const look = async () => {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
      peak = /^VmHWM:\s*(.*)$/m.exec(status)?.[1] ?? peak;
    };
    const timer = setInterval(() => void look(), 100);
  });
}

async function fillShelves({ Stock, StockRecord }: StockDb): Promise<void> {
  const ids = Array.from({ length: 100 }, (_, i) => String(i + 1));
  const pieces = String(orders);
  await Stock.bulkCreate(
    ids.map((id) => ({ product_id: id, title: `Product ${id}`, unit_price_cents: '250', available: pieces })),
  );
  await StockRecord.bulkCreate(
    ids.map((id) => ({
      order_no: 'bench',
      type: 'RECEIVE',
      product_id: id,
      quantity: pieces,
      title: null,
      unit_price_cents: null,
    })),
  );
}
