import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { connectStockService } from '../client/clients.ts';
import { createDatabase } from '../dev/database/create-database.ts';
import { type DatabaseServer, startDatabase } from '../dev/database/start-database.ts';
import type { CommandContext } from '../dev/run-command.ts';
import { ServiceProcess } from '../dev/service-process.ts';
import { orderMigrations } from '../order-svc/db/migrations.ts';
import { type OrderDb, openOrderDb } from '../order-svc/db/models.ts';
import { migrate } from '../runtime/db/migrate.ts';
import { silentLogger } from '../runtime/lifecycle/logger.ts';
import { select } from '../runtime/db/statements.ts';
import { stockTables } from '../stock-svc/db/migrations/001-stock.ts';
import { openStockDb, type StockDb } from '../stock-svc/db/models.ts';
import { fixtures } from './fixtures.ts';
import type { Watched } from './usage.ts';
import { Worker } from './worker.ts';

/** All that a run measures, each part a process of its own. */
export interface Stack {
  readonly server: DatabaseServer;
  readonly orderDb: OrderDb;
  readonly stockDb: StockDb;
  readonly floor: Worker;
  /** Callers of one order-svc that has one stock-svc. */
  readonly load: Worker;
  /** Callers of two order-svc that have two stock-svc. */
  readonly loadOfTwo: Worker;
  readonly watched: readonly Watched[];
}

const PIECES = 1_000_000n;

export async function startStack({ cleanup, print }: CommandContext): Promise<Stack> {
  const server = await startDatabase({ durability: 'full', log: print });
  cleanup.defer(() => server.stop());
  const urls = {
    order: await createDatabase(server.url, 'bench_order'),
    stock: await createDatabase(server.url, 'bench_stock'),
    floor: await createDatabase(server.url, 'bench_floor'),
  };
  const start = (name: 'order-svc' | 'stock-svc', env: Record<string, string>) =>
    cleanup.adopt(new ServiceProcess({ name, env: { LISTEN_ADDRESS: '127.0.0.1:0', ...env } }), (service) =>
      service.stop(),
    );
  const stockSvcs = [1, 2].map(() => start('stock-svc', { DATABASE_URL: urls.stock }));
  const stockAddresses = await Promise.all(stockSvcs.map((service) => service.ready));
  const targets = [stockAddresses[0]!, `ipv4:${stockAddresses.join(',')}`, `ipv4:${stockAddresses.join(',')}`];
  // The first order-svc serves the rows of one, the other two those of two.
  const orderSvcs = targets.map((target) => start('order-svc', { DATABASE_URL: urls.order, STOCK_TARGET: target }));
  const orderAddresses = await Promise.all(orderSvcs.map((service) => service.ready));

  const orderDb = openOrderDb({ url: urls.order });
  const stockDb = openStockDb({ url: urls.stock });
  const floorDb = openStockDb({ url: urls.floor });
  for (const { sequelize } of [orderDb, stockDb, floorDb]) cleanup.defer(() => sequelize.close());
  await migrate(floorDb.sequelize, [stockTables, ...orderMigrations], silentLogger);
  await floorDb.Stock.bulkCreate(
    fixtures.products.map((id) => ({
      product_id: String(id),
      title: `Product ${id}`,
      unit_price_cents: '250',
      available: '1000000000',
    })),
  );
  await fillShelves(stockAddresses[0]!);

  const adopt = (worker: Worker) => cleanup.adopt(worker, (running) => running.stop());
  const load = adopt(new Worker('load-worker.ts', [orderAddresses[0]!]));
  // Relative to the data folder. A server that is not on this machine is not watched.
  const [files] = await select<{ dir: string; pid: string }>(
    stockDb.sequelize,
    'SELECT @@datadir AS dir, @@pid_file AS pid',
    [],
  );
  const databasePid = await readFile(resolve(files!.dir, files!.pid), 'utf8').then(Number, () => -1);
  return {
    server,
    orderDb,
    stockDb,
    floor: adopt(new Worker('floor-worker.ts', [urls.floor])),
    load,
    loadOfTwo: adopt(new Worker('load-worker.ts', orderAddresses.slice(1))),
    watched: [
      { name: 'callers', pid: load.pid },
      { name: 'order-svc', pid: orderSvcs[0]!.pid },
      { name: 'stock-svc', pid: stockSvcs[0]!.pid },
      { name: 'database', pid: databasePid },
    ],
  };
}

/** Makes the products of every row, with plenty of each but the one that is sold out. */
export async function fillShelves(address: string): Promise<void> {
  const { client, close } = connectStockService(address);
  const products = fixtures.products.map((id) => ({
    productId: BigInt(id),
    title: `Product ${id}`,
    unitPriceCents: 250n,
  }));
  const items = fixtures.products
    .filter((id) => id !== fixtures.soldOutProduct)
    .map((id) => ({ productId: BigInt(id), quantity: PIECES }));
  for (let i = 0; i < products.length; i += 100) await client.putProducts({ products: products.slice(i, i + 100) });
  for (let i = 0; i < items.length; i += 100) {
    await client.receiveStock({ receiptNo: `bench-${i}`, items: items.slice(i, i + 100) });
  }
  close();
}
