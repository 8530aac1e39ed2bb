import { createClient } from '@connectrpc/connect';
import { OrderService } from '../gen/ordersystem/order/v1/order_service_pb.ts';
import { StockService } from '../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { openDatabase } from '../runtime/db/database.ts';
import { migrate } from '../runtime/db/migrate.ts';
import { pingDatabase } from '../runtime/db/ping.ts';
import type { Logger } from '../runtime/lifecycle/logger.ts';
import { Loop } from '../runtime/lifecycle/loop.ts';
import { Readiness } from '../runtime/lifecycle/readiness.ts';
import type { Running } from '../runtime/lifecycle/run-process.ts';
import { startServing } from '../runtime/lifecycle/start-serving.ts';
import { addStandardServices } from '../runtime/rpc/add-standard-services.ts';
import { circuitInterceptor } from '../runtime/rpc/circuit.ts';
import { deadlineInterceptor } from '../runtime/rpc/deadline.ts';
import { type Addresses, Doors } from '../runtime/rpc/doors.ts';
import { bearerInterceptor } from '../runtime/rpc/identity/bearer.ts';
import { openIdentity } from '../runtime/rpc/identity/open-identity.ts';
import { openStockAccess } from '../runtime/rpc/identity/stock-access.ts';
import { Admission, Bound } from '../runtime/rpc/overload.ts';
import { requestLog } from '../runtime/rpc/request-log.ts';
import { retryInterceptor } from '../runtime/rpc/retry.ts';
import { startGate } from '../runtime/rpc/start-gate.ts';
import { createGrpcTransport } from '../runtime/rpc/transport.ts';
import type { OrderConfig } from './config.ts';
import { orderMigrations } from './db/migrations.ts';
import { openOrderDb } from './db/models.ts';
import { DatabaseWorkerLease } from './db/worker-lease.ts';
import { OrderNumbers } from './domain/order-numbers.ts';
import { expireOnce } from './life/expiry.ts';
import { Outbox } from './outbox/outbox.ts';
import { publisherFor } from './outbox/publishers.ts';
import { orderDeadlines } from './rpc/deadlines.ts';
import { orderService } from './rpc/order-service.ts';
import { createBatches } from './saga/batches.ts';
import { InFlight } from './saga/in-flight.ts';
import { reapOnce } from './saga/reaper.ts';

/**
 * Starts order-svc: serves when its database is there and migrated and a worker id is leased; then runs its reaper, its expiry and its
 * relay. Gives up when the signal is aborted before that.
 */
export async function startOrderService(
  config: OrderConfig,
  logger: Logger,
  signal: AbortSignal = new AbortController().signal,
): Promise<Running & Addresses> {
  const stockAccess = openStockAccess(config, logger);
  const identity = openIdentity(config, logger);
  const db = openOrderDb({ url: config.DATABASE_URL, poolSize: config.DATABASE_POOL_SIZE });
  const lease = new DatabaseWorkerLease(db, { leaseMs: config.WORKER_LEASE_MS, logger });
  const numbers = new OrderNumbers(lease);
  const transport = createGrpcTransport({
    target: config.STOCK_TARGET,
    credentials: stockAccess.credentials,
    interceptors: [
      deadlineInterceptor(config.COMPENSATION_MS),
      retryInterceptor({ attemptTimeoutMs: config.STOCK_ATTEMPT_MS }),
      circuitInterceptor({ name: 'stock-svc', attemptTimeoutMs: config.STOCK_ATTEMPT_MS, logger }),
      ...(stockAccess.token ? [bearerInterceptor(stockAccess.token)] : []),
    ],
  });
  const stock = createClient(StockService, transport);
  const probe = openDatabase({ url: config.DATABASE_URL, poolSize: 1 });
  const readiness = new Readiness({
    checks: {
      'the database does not answer': (given) => pingDatabase(probe, given),
      'no worker id is held': () => lease.current() !== undefined,
    },
    intervalMs: config.HEALTH_INTERVAL_MS,
    logger,
  });
  const doors = new Doors({
    tls: identity.tls,
    interceptors: [requestLog(logger), startGate(readiness), identity.interceptor],
    deadline: orderDeadlines,
    admission: new Admission(
      config.MAX_CALLS,
      logger,
      new Map([[OrderService.method.createOrder, shareOfNewOrders(config)]]),
    ),
    maxConnectionAgeMs: config.CONNECTION_AGE_MS,
    corsOrigins: config.HTTP_CORS_ORIGINS,
    notReady: () => readiness.problems(),
  });
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
    newOrders: new Bound('new orders', config.MAX_NEW_ORDERS, logger),
    batches: createBatches(db, stock, outbox.handOver, config.BATCH_SIZE),
    wakeRelay: () => outbox.wake(),
    claimMarginMs: config.CLAIM_MARGIN_MS,
    compensationMs: config.COMPENSATION_MS,
  };
  const loop = (name: string, intervalMs: number, runOnce: () => Promise<boolean>) =>
    new Loop({ name, intervalMs, runOnce, logger });
  const loops = [
    loop('reaper', config.REAPER_INTERVAL_MS, () => reapOnce(db, logger)),
    loop('expiry', config.EXPIRY_INTERVAL_MS, () => expireOnce(db, config.ORDER_PAY_WINDOW_MS, logger)),
  ];
  const prepare = async () => {
    await migrate(db.sequelize, orderMigrations, logger);
    await lease.start();
    await readiness.start();
  };
  const stop = async () => {
    await readiness.drain(config.DRAIN_DELAY_MS);
    await doors.stop(config.DRAIN_MS);
    await Promise.all(loops.map((one) => one.stop()));
    await outbox.stop();
    await lease.release(numbers.lastMs).catch((err: unknown) => logger.warn({ err }, 'worker id not given back'));
    transport.close();
    identity.close();
    stockAccess.close();
    await readiness.stop();
    await probe.close();
    await db.sequelize.close();
  };
  try {
    doors.add(OrderService, orderService(saga));
    addStandardServices(doors, [OrderService], { readiness, reflection: config.REFLECTION === 'on' });
    const at = { address: config.LISTEN_ADDRESS, httpAddress: config.HTTP_LISTEN_ADDRESS };
    await outbox.connect();
    const addresses = await startServing({ prepare, listen: () => doors.listen(at), signal, logger });
    outbox.start();
    loops.forEach((one) => one.start());
    return { ...addresses, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * The part of the places of all calls in which CreateOrder is let in: as many as new orders have, and some in which it is found out whether
 * one is new. To find out that one is new, when there is no room for it, costs twice what it costs to refuse it by its headers.
 */
function shareOfNewOrders({ MAX_CALLS, MAX_NEW_ORDERS }: OrderConfig): number {
  return MAX_NEW_ORDERS / MAX_CALLS + 1 / 16;
}
