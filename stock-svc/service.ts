import { StockService } from '../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { openDatabase } from '../runtime/db/database.ts';
import { migrate } from '../runtime/db/migrate.ts';
import { pingDatabase } from '../runtime/db/ping.ts';
import type { Logger } from '../runtime/lifecycle/logger.ts';
import { Readiness } from '../runtime/lifecycle/readiness.ts';
import type { Running } from '../runtime/lifecycle/run-process.ts';
import { startServing } from '../runtime/lifecycle/start-serving.ts';
import { addStandardServices } from '../runtime/rpc/add-standard-services.ts';
import { type Addresses, Doors } from '../runtime/rpc/doors.ts';
import { openIdentity } from '../runtime/rpc/identity/open-identity.ts';
import { Admission } from '../runtime/rpc/overload.ts';
import { requestLog } from '../runtime/rpc/request-log.ts';
import { startGate } from '../runtime/rpc/start-gate.ts';
import type { StockConfig } from './config.ts';
import { stockTables } from './db/migrations/001-stock.ts';
import { openStockDb } from './db/models.ts';
import { stockDeadlines } from './rpc/deadlines.ts';
import { stockScopes } from './rpc/scopes.ts';
import { stockService } from './rpc/stock-service.ts';

/**
 * Starts stock-svc: serves when its database is there and migrated. Gives up when the signal is aborted before that.
 */
export async function startStockService(
  config: StockConfig,
  logger: Logger,
  signal: AbortSignal = new AbortController().signal,
): Promise<Running & Addresses> {
  const identity = openIdentity(config, logger);
  const db = openStockDb({ url: config.DATABASE_URL, poolSize: config.DATABASE_POOL_SIZE });
  const probe = openDatabase({ url: config.DATABASE_URL, poolSize: 1 });
  const readiness = new Readiness({
    checks: { 'the database does not answer': (given) => pingDatabase(probe, given) },
    intervalMs: config.HEALTH_INTERVAL_MS,
    logger,
  });
  const doors = new Doors({
    tls: identity.tls,
    interceptors: [requestLog(logger), startGate(readiness), identity.interceptor, stockScopes],
    deadline: stockDeadlines,
    admission: new Admission(config.MAX_CALLS, logger),
    maxConnectionAgeMs: config.CONNECTION_AGE_MS,
    corsOrigins: config.HTTP_CORS_ORIGINS,
    notReady: () => readiness.problems(),
  });
  const prepare = async () => {
    await migrate(db.sequelize, [stockTables], logger);
    await readiness.start();
  };
  const stop = async () => {
    await readiness.drain(config.DRAIN_DELAY_MS);
    await doors.stop(config.DRAIN_MS);
    await readiness.stop();
    await probe.close();
    identity.close();
    await db.sequelize.close();
  };
  try {
    doors.add(StockService, stockService(db, config.BATCH_SIZE));
    addStandardServices(doors, [StockService], { readiness, reflection: config.REFLECTION === 'on' });
    const at = { address: config.LISTEN_ADDRESS, httpAddress: config.HTTP_LISTEN_ADDRESS };
    const addresses = await startServing({ prepare, listen: () => doors.listen(at), signal, logger });
    return { ...addresses, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
