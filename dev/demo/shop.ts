import { randomUUID } from 'node:crypto';
import type { Client } from '@connectrpc/connect';
import { connectOrderService, connectStockService } from '../../client/clients.ts';
import type { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import type { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { type OrderDb, openOrderDb } from '../../order-svc/db/models.ts';
import { openStockDb, type StockDb } from '../../stock-svc/db/models.ts';
import { createDatabase, dropDatabase } from '../database/create-database.ts';
import { type DatabaseServer, startDatabase } from '../database/start-database.ts';
import type { CommandContext } from '../run-command.ts';
import { ServiceProcess } from '../service-process.ts';
import { CrashEdge } from './crash-edge.ts';

export type OrderClient = Client<typeof OrderService>;

// How long a claim outlives its call: 10 s by default, for which nobody wants to watch a demo.
const claimMarginMs = 500;

/** Both services as processes of their own, over databases of their own. */
export class Shop {
  readonly orderDb: OrderDb;
  readonly stockDb: StockDb;
  readonly stock: Client<typeof StockService>;
  readonly edge: CrashEdge;
  /** Rejects when a service ends that was not told to. */
  readonly failed: Promise<never>;
  readonly #failed = Promise.withResolvers<never>();
  #orderSvc: ServiceProcess | undefined;
  #orders: OrderClient | undefined;
  readonly #orderDbUrl: string;
  readonly #context: CommandContext;

  private constructor(context: CommandContext, urls: { order: string; stock: string }, stockAddress: string) {
    const { cleanup } = context;
    this.#context = context;
    this.failed = this.#failed.promise;
    this.failed.catch(() => undefined);
    this.#orderDbUrl = urls.order;
    this.orderDb = openOrderDb({ url: urls.order });
    this.stockDb = openStockDb({ url: urls.stock });
    for (const { sequelize } of [this.orderDb, this.stockDb]) cleanup.defer(() => sequelize.close());
    const { client, close } = connectStockService(stockAddress);
    this.stock = client;
    cleanup.defer(close);
    this.edge = cleanup.adopt(new CrashEdge(stockAddress), (edge) => edge.close());
  }

  /** Makes two databases on the server, and starts both services. */
  static async open(context: CommandContext, server: DatabaseServer): Promise<Shop> {
    const { cleanup, print } = context;
    const suffix = randomUUID().slice(0, 8);
    const create = async (name: string): Promise<string> => {
      // A server that was started here takes its data with it.
      if (server.source === 'url') cleanup.defer(() => dropDatabase(server.url, name));
      return createDatabase(server.url, name);
    };
    const urls = { order: await create(`demo_order_${suffix}`), stock: await create(`demo_stock_${suffix}`) };
    print('starting stock-svc…');
    const stockSvc = startService(context, 'stock-svc', { DATABASE_URL: urls.stock });
    const stockAddress = await stockSvc.ready;
    print(`stock-svc listens on ${stockAddress}`);

    const shop = new Shop(context, urls, stockAddress);
    stockSvc.died.catch(shop.#failed.reject);
    await shop.edge.listen();
    print('starting order-svc…');
    print(`order-svc listens on ${await shop.startOrderService()}`);
    return shop;
  }

  /** Starts order-svc on its database, for the first time or again. Returns its address. */
  async startOrderService(): Promise<string> {
    this.#orderSvc = startService(this.#context, 'order-svc', {
      DATABASE_URL: this.#orderDbUrl,
      STOCK_TARGET: this.edge.address,
      CLAIM_MARGIN_MS: String(claimMarginMs),
      REAPER_INTERVAL_MS: '100',
      RELAY_INTERVAL_MS: '50',
    });
    this.#orderSvc.died.catch(this.#failed.reject);
    const address = await this.#orderSvc.ready;
    const { client, close } = connectOrderService(address);
    this.#context.cleanup.defer(close);
    this.#orders = client;
    return address;
  }

  async killOrderService(): Promise<void> {
    await this.#orderSvc?.kill();
  }

  /** A caller's client of the order-svc that was started last. */
  get orders(): OrderClient {
    if (!this.#orders) throw new Error('order-svc has not been started');
    return this.#orders;
  }
}

/** A database server with its full durability, for as long as the command runs. */
export async function openDatabaseServer({ cleanup, print }: CommandContext): Promise<DatabaseServer> {
  print('finding a database…');
  const server = await startDatabase({ durability: 'full', log: print });
  cleanup.defer(() => server.stop());
  return server;
}

function startService(
  { cleanup }: CommandContext,
  name: 'order-svc' | 'stock-svc',
  env: Record<string, string>,
): ServiceProcess {
  const service = new ServiceProcess({ name, env: { ...env, LISTEN_ADDRESS: '127.0.0.1:0', DRAIN_MS: '1000' } });
  return cleanup.adopt(service, (running) => running.stop());
}
