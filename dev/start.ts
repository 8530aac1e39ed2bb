import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { createIfMissing } from './create-if-missing.ts';
import { startDatabase } from './database/start-database.ts';
import { type CommandContext, runCommand } from './run-command.ts';
import { ServiceProcess } from './service-process.ts';
import { auditCommand, curlCommands } from './start/commands-to-paste.ts';
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
  const orderListen = process.env['ORDER_LISTEN_ADDRESS'] || '127.0.0.1:50051';
  const stockListen = process.env['STOCK_LISTEN_ADDRESS'] || '127.0.0.1:50052';
  const dataDir = process.env['DATA_DIR'] || fileURLToPath(new URL('../.data', import.meta.url));
  await requireFreePort(orderListen, 'ORDER_LISTEN_ADDRESS');
  await requireFreePort(stockListen, 'STOCK_LISTEN_ADDRESS');

  print('finding a database…');
  const server = await startDatabase({ durability: 'full', dataDir, log: print });
  cleanup.defer(() => server.stop());
  const orderDb = await createIfMissing(server.url, 'ordersystem_order');
  const stockDb = await createIfMissing(server.url, 'ordersystem_stock');

  const stockSvc = cleanup.adopt(
    new ServiceProcess({
      name: 'stock-svc',
      env: { DATABASE_URL: stockDb, LISTEN_ADDRESS: stockListen },
      onLine: print,
    }),
    (service) => service.stop(),
  );
  const stockAddress = await stockSvc.ready;
  const orderSvc = cleanup.adopt(
    new ServiceProcess({
      name: 'order-svc',
      env: { DATABASE_URL: orderDb, LISTEN_ADDRESS: orderListen, STOCK_TARGET: stockAddress },
      onLine: print,
    }),
    (service) => service.stop(),
  );
  const orderAddress = await orderSvc.ready;
  await fillShelves(stockAddress);

  print(`\norder-svc is on ${orderAddress}, stock-svc on ${stockAddress}, over ${server.version}. Ctrl-C ends both.`);
  if (server.source !== 'url') print(`The data stays in ${dataDir}.`);
  for (const [what, command] of curlCommands(orderAddress, stockAddress, randomUUID()))
    print(`\n# ${what}\n${command}`);
  // The password of a server that was started here opens nothing else.
  if (server.source !== 'url')
    print(`\n# hold both databases against what must hold always\n${auditCommand(orderDb, stockDb)}`);
  print('');
  return Promise.race([stockSvc.died, orderSvc.died]);
}
