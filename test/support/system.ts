import { randomUUID } from 'node:crypto';
import { type CallOptions, type Client, createClient } from '@connectrpc/connect';
import { connectStockService } from '../../client/clients.ts';
import { createDatabase, dropDatabase } from '../../dev/database/create-database.ts';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { loadOrderConfig } from '../../order-svc/config.ts';
import { orderMigrations } from '../../order-svc/db/migrations.ts';
import { type OrderDb, openOrderDb } from '../../order-svc/db/models.ts';
import { Relay } from '../../order-svc/outbox/relay.ts';
import { restoreStock } from '../../order-svc/outbox/restore-stock.ts';
import { startOrderService } from '../../order-svc/service.ts';
import { migrate } from '../../runtime/db/migrate.ts';
import { silentLogger } from '../../runtime/lifecycle/logger.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';
import { loadStockConfig } from '../../stock-svc/config.ts';
import { openStockDb, type StockDb } from '../../stock-svc/db/models.ts';
import { startStockService } from '../../stock-svc/service.ts';
import { audit } from './audit.ts';
import { serverUrl } from './setup.ts';
import { SqlProxy } from './sql-proxy.ts';
import { type StockClient, StockEdge } from './stock-edge.ts';

/** One order-svc with everything around it under the test's hand. */
export interface OrderNode {
  /** Repeats nothing by itself. */
  readonly client: Client<typeof OrderService>;
  readonly address: string;
  /** Null unless its environment sets HTTP_LISTEN_ADDRESS. */
  readonly httpAddress: string | null;
  /** Between it and its database. */
  readonly sql: SqlProxy & { url: string };
  /** Between it and stock-svc. */
  readonly edge: StockEdge;
  /** Cuts it off from everything, for good: as near to a crash as a process that lives can come. */
  crash(): void;
}

/** Both services on a real database, in this process, on real ports. */
export interface System {
  readonly orderDb: OrderDb;
  readonly stockDb: StockDb;
  readonly stock: StockClient;
  readonly stockAddress: string;
  readonly stockHttpAddress: string | null;
  /** Between stock-svc and its database. */
  readonly stockSql: SqlProxy;
  /** Starts one more order-svc on the same database. Its reaper, its expiry and its relay rest: tests run single passes. */
  orderNode(env?: Record<string, string>): Promise<OrderNode>;
  audit(): Promise<void>;
  stop(): Promise<void>;
}

const REST = '600000';

/** A system for the suite that calls this; the audit runs after each of its tests. */
export function useSystem(): System {
  const system = {} as System;
  before(async () => void Object.assign(system, await startSystem()));
  afterEach(() => system.audit());
  after(() => system.stop());
  return system;
}

export async function startSystem(): Promise<System> {
  const suffix = randomUUID().slice(0, 8);
  const names = { order: `test_order_${suffix}`, stock: `test_stock_${suffix}` };
  const orderUrl = await createDatabase(serverUrl(), names.order);
  const stockUrl = await createDatabase(serverUrl(), names.stock);
  const stockSql = await SqlProxy.to(stockUrl);
  const stockSvc = await startStockService(
    loadStockConfig({
      DATABASE_URL: stockSql.url,
      LISTEN_ADDRESS: '127.0.0.1:0',
      HTTP_LISTEN_ADDRESS: '127.0.0.1:0',
      DRAIN_MS: '0',
      BATCH_SIZE: process.env['BATCH_SIZE'],
    }),
    silentLogger,
  );
  const orderDb = openOrderDb({ url: orderUrl });
  await migrate(orderDb.sequelize, orderMigrations, silentLogger);
  const stockDb = openStockDb({ url: stockUrl });
  const stock = connectStockService(stockSvc.address);
  const stops: (() => Promise<void>)[] = [];
  return {
    orderDb,
    stockDb,
    stock: stock.client,
    stockAddress: stockSvc.address,
    stockHttpAddress: stockSvc.httpAddress,
    stockSql,
    async orderNode(env = {}) {
      const { node, stop } = await startOrderNode(orderUrl, stockSvc.address, env);
      stops.push(stop);
      return node;
    },
    audit: () => audit(orderDb, stockDb),
    async stop() {
      for (const stop of stops) await stop();
      stock.close();
      await stockSvc.stop();
      await stockSql.close();
      await orderDb.sequelize.close();
      await stockDb.sequelize.close();
      await dropDatabase(serverUrl(), names.order);
      await dropDatabase(serverUrl(), names.stock);
    },
  };
}

async function startOrderNode(orderUrl: string, stockAddress: string, env: Record<string, string>) {
  const sql = await SqlProxy.to(orderUrl);
  const edge = await new StockEdge(stockAddress).listen();
  const config = loadOrderConfig({
    DATABASE_URL: sql.url,
    STOCK_TARGET: edge.address,
    LISTEN_ADDRESS: '127.0.0.1:0',
    REAPER_INTERVAL_MS: REST,
    EXPIRY_INTERVAL_MS: REST,
    RELAY_INTERVAL_MS: REST,
    COMPENSATION_MS: '1000',
    DRAIN_MS: '0',
    BATCH_SIZE: process.env['BATCH_SIZE'],
    ...env,
  });
  const service = await startOrderService(config, silentLogger);
  const transport = createGrpcTransport({ target: service.address });
  const node: OrderNode = {
    client: createClient(OrderService, transport),
    address: service.address,
    httpAddress: service.httpAddress,
    sql,
    edge,
    crash() {
      sql.refuse();
      edge.dead = true;
    },
  };
  const stop = async () => {
    transport.close();
    await service.stop();
    await edge.close();
    await sql.close();
  };
  return { node, stop };
}

let lastProductId = 0n;

/** A new product with so much in stock. Returns its id. */
export async function product(system: System, available: bigint, unitPriceCents = 250n): Promise<bigint> {
  const productId = ++lastProductId;
  await system.stock.putProducts({ products: [{ productId, title: `Product ${productId}`, unitPriceCents }] });
  if (available > 0n) {
    await system.stock.receiveStock({ receiptNo: `receipt-${productId}`, items: [{ productId, quantity: available }] });
  }
  return productId;
}

export async function availableOf(system: System, productId: bigint): Promise<bigint> {
  const { stocks } = await system.stock.getStock({ productIds: [productId] });
  return stocks[0]!.available;
}

/** The ledger of a product, oldest first: `DEDUCT 2`, `RESTORE 2`; receipts left out. */
export async function movementsOf(system: System, productId: bigint): Promise<string[]> {
  const rows = await system.stockDb.StockRecord.findAll({ where: { product_id: String(productId) }, raw: true });
  return rows
    .filter((row) => row.type !== 'RECEIVE')
    .map((row) => `${row.type} ${row.quantity}`)
    .sort();
}

export function newKey(): string {
  return randomUUID();
}

/** Call options of a user. */
export function as(userId: number | bigint, options: CallOptions = {}): CallOptions {
  return { ...options, headers: { 'x-user-id': String(userId) } };
}

/** All claims are long expired, by the database's clock. */
export async function expireClaims({ orderDb }: System): Promise<void> {
  await orderDb.OrderClaim.update({ expire_time: new Date('2020-01-01') }, { where: {} });
}

/** One pass of the relays, over jobs and news, that reach stock-svc directly and tell nobody. */
export async function relay({ orderDb, stock }: System): Promise<void> {
  const options = { leaseMs: 30_000, maxAttempts: 50, logger: silentLogger };
  await new Relay(orderDb, { lane: 'JOB', handle: (event) => restoreStock(stock, event, 1000), ...options }).runOnce();
  await new Relay(orderDb, { lane: 'NEWS', handle: () => Promise.resolve(), ...options }).runOnce();
}

/** The URL of an open database, past any proxy. */
export function databaseUrlOf({ sequelize: { config } }: Pick<OrderDb, 'sequelize'>): string {
  const url = new URL(`mysql://${config.host}:${config.port}/${config.database}`);
  url.username = config.username;
  url.password = config.password ?? '';
  return url.href;
}
