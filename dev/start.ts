import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { createIfMissing } from './create-if-missing.ts';
import { startDatabase } from './database/start-database.ts';
import { type CommandContext, runCommand } from './run-command.ts';
import { ServiceProcess } from './service-process.ts';
import { curlCommands } from './start/curl-commands.ts';
import { fillShelves } from './start/fill-shelves.ts';
import { requireFreePort } from './start/require-free-port.ts';

if (process.argv.length > 2) {
  process.stderr.write('usage: npm start\n');
  process.exit(2);
}

await runCommand({ name: 'start', run, interruptedStatus: 0 });

/** Both services until Ctrl-C, or until one of them ends by itself, which is an error. */
async function run(context: CommandContext): Promise<never> {
  const { cleanup, print } = context;
  const orderListen = await freeAddress('ORDER_LISTEN_ADDRESS', '127.0.0.1:50051');
  const stockListen = await freeAddress('STOCK_LISTEN_ADDRESS', '127.0.0.1:50052');
  const orderHttpListen = await freeAddress('ORDER_HTTP_LISTEN_ADDRESS', '127.0.0.1:8080');
  const stockHttpListen = await freeAddress('STOCK_HTTP_LISTEN_ADDRESS', '127.0.0.1:8081');
  const dataDir = process.env['DATA_DIR'] || fileURLToPath(new URL('../.data', import.meta.url));

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

  print(`\norder-svc is on ${orderAddress}, stock-svc on ${stockAddress}, over ${server.version}. Ctrl-C ends both.`);
  print(`Over HTTP they are on ${orderSvc.httpAddress} and ${stockSvc.httpAddress}.`);
  if (server.source !== 'url') print(`The data stays in ${dataDir}.`);
  for (const [what, command] of curlCommands(orderAddress, stockAddress, orderSvc.httpAddress, randomUUID()))
    print(`\n# ${what}\n${command}`);
  print('');
  return Promise.race([stockSvc.died, orderSvc.died]);
}

/** The address that a variable names, or else the usual one. */
async function freeAddress(variable: string, usual: string): Promise<string> {
  const address = process.env[variable] || usual;
  await requireFreePort(address, variable);
  return address;
}
