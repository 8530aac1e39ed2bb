import { createClient } from '@connectrpc/connect';
import { OrderService } from '../gen/ordersystem/order/v1/order_service_pb.ts';
import { StockService } from '../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { migrate } from '../runtime/db/migrate.ts';
import type { Logger } from '../runtime/lifecycle/logger.ts';
import { Loop } from '../runtime/lifecycle/loop.ts';
import type { Running } from '../runtime/lifecycle/run-process.ts';
import { circuitInterceptor } from '../runtime/rpc/circuit.ts';
import { deadlineInterceptor } from '../runtime/rpc/deadline.ts';
import { GrpcHost } from '../runtime/rpc/host.ts';
import { admission, Bound } from '../runtime/rpc/overload.ts';
import { requestLog } from '../runtime/rpc/request-log.ts';
import { retryInterceptor } from '../runtime/rpc/retry.ts';
import { createGrpcTransport } from '../runtime/rpc/transport.ts';
import type { OrderConfig } from './config.ts';
import { orderTables } from './db/migrations/001-orders.ts';
import { openOrderDb } from './db/models.ts';
import { DatabaseWorkerLease } from './db/worker-lease.ts';
import { OrderNumbers } from './domain/order-numbers.ts';
import { eventHandler, logPublisher } from './outbox/handle-event.ts';
import { HandOver } from './outbox/hand-over.ts';
import { relayOnce } from './outbox/relay.ts';
import { orderDeadlines } from './rpc/deadlines.ts';
import { orderService } from './rpc/order-service.ts';
import { createBatches } from './saga/batches.ts';
import { InFlight } from './saga/in-flight.ts';
import { reapOnce } from './saga/reaper.ts';

/** Starts order-svc: migrates, leases a worker id, listens, and runs its reaper and its relay. */
export async function startOrderService(config: OrderConfig, logger: Logger): Promise<Running & { address: string }> {
  const db = openOrderDb({ url: config.DATABASE_URL, poolSize: config.DATABASE_POOL_SIZE });
  const lease = new DatabaseWorkerLease(db, { leaseMs: config.WORKER_LEASE_MS, logger });
  const numbers = new OrderNumbers(lease);
  const transport = createGrpcTransport({
    target: config.STOCK_TARGET,
    interceptors: [
      deadlineInterceptor(config.COMPENSATION_MS),
      retryInterceptor({ attemptTimeoutMs: config.STOCK_ATTEMPT_MS }),
      circuitInterceptor({ name: 'stock-svc', attemptTimeoutMs: config.STOCK_ATTEMPT_MS, logger }),
    ],
  });
  const stock = createClient(StockService, transport);
  const host = new GrpcHost({
    interceptors: [admission(new Bound('calls', config.MAX_CALLS, logger)), requestLog(logger)],
    deadline: orderDeadlines,
  });
  const relay = {
    handle: eventHandler(stock, logPublisher(logger), config.COMPENSATION_MS),
    leaseMs: config.EVENT_LEASE_MS,
    maxAttempts: config.EVENT_MAX_ATTEMPTS,
    logger,
  };
  const handOver = new HandOver(db, relay);
  const saga = {
    db,
    stock,
    numbers,
    inFlight: new InFlight(),
    newOrders: new Bound('new orders', config.MAX_NEW_ORDERS, logger),
    batches: createBatches(db, stock, handOver, config.BATCH_SIZE),
    claimMarginMs: config.CLAIM_MARGIN_MS,
    compensationMs: config.COMPENSATION_MS,
  };
  const loops = [
    new Loop({ name: 'reaper', intervalMs: config.REAPER_INTERVAL_MS, runOnce: () => reapOnce(db, logger), logger }),
    new Loop({ name: 'relay', intervalMs: config.RELAY_INTERVAL_MS, runOnce: () => relayOnce(db, relay), logger }),
    new Loop({ name: 'settle', intervalMs: config.RELAY_INTERVAL_MS, runOnce: () => handOver.settle(), logger }),
  ];
  const stop = async () => {
    await host.stop(config.DRAIN_MS);
    await Promise.all(loops.map((loop) => loop.stop()));
    await handOver.stop().catch((err: unknown) => logger.warn({ err }, 'events not settled'));
    await lease.release(numbers.lastMs).catch((err: unknown) => logger.warn({ err }, 'worker id not given back'));
    transport.close();
    await db.sequelize.close();
  };
  try {
    await migrate(db.sequelize, [orderTables], logger);
    await lease.start();
    host.add(OrderService, orderService(saga));
    const address = await host.listen(config.LISTEN_ADDRESS);
    loops.forEach((loop) => loop.start());
    logger.info({ address }, 'listening');
    return { address, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
