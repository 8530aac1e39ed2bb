import { createClient } from '@connectrpc/connect';
import { OrderService } from '../gen/ordersystem/order/v1/order_service_pb.ts';
import { StockService } from '../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { migrate } from '../runtime/db/migrate.ts';
import type { Logger } from '../runtime/lifecycle/logger.ts';
import { Loop } from '../runtime/lifecycle/loop.ts';
import type { Listening } from '../runtime/lifecycle/run-process.ts';
import { deadlineInterceptor } from '../runtime/rpc/deadline.ts';
import { GrpcHost } from '../runtime/rpc/host.ts';
import { HttpDoor } from '../runtime/rpc/http-door.ts';
import { openIdentity } from '../runtime/rpc/identity/open-identity.ts';
import { requestLog } from '../runtime/rpc/request-log.ts';
import { retryInterceptor } from '../runtime/rpc/retry.ts';
import { createGrpcTransport } from '../runtime/rpc/transport.ts';
import type { OrderConfig } from './config.ts';
import { orderMigrations } from './db/migrations.ts';
import { openOrderDb } from './db/models.ts';
import { DatabaseWorkerLease } from './db/worker-lease.ts';
import { OrderNumbers } from './domain/order-numbers.ts';
import { expireOnce } from './life/expiry.ts';
import { Outbox } from './outbox/outbox.ts';
import { publisherFor } from './outbox/publishers.ts';
import { orderService } from './rpc/order-service.ts';
import { createBatches } from './saga/batches.ts';
import { InFlight } from './saga/in-flight.ts';
import { reapOnce } from './saga/reaper.ts';
import { openStockCredentials } from './stock-credentials.ts';

/** Starts order-svc: migrates, leases a worker id, listens, and runs its reaper, its expiry and its relay. */
export async function startOrderService(config: OrderConfig, logger: Logger): Promise<Listening> {
  const stockCredentials = openStockCredentials(config, logger);
  const identity = openIdentity(config, logger);
  const db = openOrderDb({ url: config.DATABASE_URL, poolSize: config.DATABASE_POOL_SIZE });
  const lease = new DatabaseWorkerLease(db, { leaseMs: config.WORKER_LEASE_MS, logger });
  const numbers = new OrderNumbers(lease);
  const transport = createGrpcTransport({
    target: config.STOCK_TARGET,
    credentials: stockCredentials.credentials,
    interceptors: [
      deadlineInterceptor(config.DEFAULT_DEADLINE_MS),
      retryInterceptor({ attemptTimeoutMs: config.STOCK_ATTEMPT_MS }),
      ...stockCredentials.interceptors,
    ],
  });
  const stock = createClient(StockService, transport);
  const serving = {
    tls: identity.tls,
    interceptors: [requestLog(logger), identity.interceptor],
    deadline: { defaultMs: config.DEFAULT_DEADLINE_MS, maxMs: config.MAX_DEADLINE_MS },
  };
  const host = new GrpcHost(serving);
  const door = new HttpDoor({ ...serving, corsOrigins: config.HTTP_CORS_ORIGINS });
  const publisher = publisherFor(config.EVENTS_URL)!(config.EVENTS_FORMAT, logger);
  const outboxOptions = {
    intervalMs: config.RELAY_INTERVAL_MS,
    leaseMs: config.EVENT_LEASE_MS,
    maxAttempts: config.EVENT_MAX_ATTEMPTS,
    retentionMs: config.EVENT_RETENTION_MS,
    stockTimeoutMs: config.COMPENSATION_MS,
  };
  const outbox = new Outbox(db, stock, publisher, outboxOptions, logger);
  const saga = {
    db,
    stock,
    numbers,
    inFlight: new InFlight(),
    batches: createBatches(db, stock, outbox.handOver, config.BATCH_SIZE),
    wakeRelay: () => outbox.handOver.wake(),
    claimMarginMs: config.CLAIM_MARGIN_MS,
    compensationMs: config.COMPENSATION_MS,
  };
  const loop = (name: string, intervalMs: number, runOnce: () => Promise<boolean>) =>
    new Loop({ name, intervalMs, runOnce, logger });
  const loops = [
    loop('reaper', config.REAPER_INTERVAL_MS, () => reapOnce(db, logger)),
    loop('expiry', config.EXPIRY_INTERVAL_MS, () => expireOnce(db, config.ORDER_PAY_WINDOW_MS, logger)),
  ];
  const stop = async () => {
    await Promise.all([host.stop(config.DRAIN_MS), door.stop(config.DRAIN_MS)]);
    await Promise.all(loops.map((one) => one.stop()));
    await outbox.stop();
    await lease.release(numbers.lastMs).catch((err: unknown) => logger.warn({ err }, 'worker id not given back'));
    transport.close();
    identity.close();
    stockCredentials.close();
    await db.sequelize.close();
  };
  try {
    await migrate(db.sequelize, orderMigrations, logger);
    await lease.start();
    await outbox.start();
    const service = orderService(saga);
    host.add(OrderService, service);
    door.add(OrderService, service);
    const address = await host.listen(config.LISTEN_ADDRESS);
    const httpAddress = config.HTTP_LISTEN_ADDRESS && (await door.listen(config.HTTP_LISTEN_ADDRESS));
    loops.forEach((one) => one.start());
    logger.info({ address, http_address: httpAddress }, 'listening');
    return { address, httpAddress, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
