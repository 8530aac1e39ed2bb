import { fileURLToPath } from 'node:url';
import { createIfMissing } from '../create-if-missing.ts';
import { startDatabase } from '../database/start-database.ts';
import type { CommandContext } from '../run-command.ts';
import { ServiceProcess } from '../service-process.ts';
import { fillShelves } from './fill-shelves.ts';
import { requireFreePort } from './require-free-port.ts';

/** What runs for development. */
export interface Stack {
  readonly orderAddress: string;
  readonly stockAddress: string;
  readonly orderHttpAddress: string;
  readonly stockHttpAddress: string;
  /** The databases of the services. */
  readonly orderUrl: string;
  readonly stockUrl: string;
  /** The database server: what it is, and where its data stays; undefined for a server of somebody else. */
  readonly database: string;
  readonly dataDir: string | undefined;
  /** Rejects when one of the services ends by itself; never resolves. */
  readonly died: Promise<never>;
}

/** Starts a database and both services, with some products in stock; they end with the command. */
export async function startStack({ cleanup, print }: CommandContext): Promise<Stack> {
  const orderListen = await freeAddress('ORDER_LISTEN_ADDRESS', '127.0.0.1:50051');
  const stockListen = await freeAddress('STOCK_LISTEN_ADDRESS', '127.0.0.1:50052');
  const orderHttpListen = await freeAddress('ORDER_HTTP_LISTEN_ADDRESS', '127.0.0.1:8080');
  const stockHttpListen = await freeAddress('STOCK_HTTP_LISTEN_ADDRESS', '127.0.0.1:8081');
  const dataDir = process.env['DATA_DIR'] || fileURLToPath(new URL('../../.data', import.meta.url));

  print('finding a database…');
  const server = await startDatabase({ durability: 'full', dataDir, log: print });
  cleanup.defer(() => server.stop());
  const orderDb = await createIfMissing(server.url, 'ordersystem_order');
  const stockDb = await createIfMissing(server.url, 'ordersystem_stock');

  const stockSvc = cleanup.adopt(
    new ServiceProcess({
      name: 'stock-svc',
      env: { DATABASE_URL: stockDb, LISTEN_ADDRESS: stockListen, HTTP_LISTEN_ADDRESS: stockHttpListen },
      onLine: print,
    }),
    (service) => service.stop(),
  );
  const stockAddress = await stockSvc.ready;
  const orderSvc = cleanup.adopt(
    new ServiceProcess({
      name: 'order-svc',
      env: {
        DATABASE_URL: orderDb,
        LISTEN_ADDRESS: orderListen,
        HTTP_LISTEN_ADDRESS: orderHttpListen,
        STOCK_TARGET: stockAddress,
      },
      onLine: print,
    }),
    (service) => service.stop(),
  );
  const orderAddress = await orderSvc.ready;
  await fillShelves(stockAddress);
  const died = Promise.race([stockSvc.died, orderSvc.died]);
  // Nobody has to wait for it.
  died.catch(() => undefined);
  return {
    orderAddress,
    stockAddress,
    orderHttpAddress: orderSvc.httpAddress,
    stockHttpAddress: stockSvc.httpAddress,
    orderUrl: orderDb,
    stockUrl: stockDb,
    database: server.version,
    dataDir: server.source === 'url' ? undefined : dataDir,
    died,
  };
}

/** The address that a variable names, or else the usual one. */
async function freeAddress(variable: string, usual: string): Promise<string> {
  const address = process.env[variable] || usual;
  await requireFreePort(address, variable);
  return address;
}
