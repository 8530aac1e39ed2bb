import { StockService } from '../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { migrate } from '../runtime/db/migrate.ts';
import type { Logger } from '../runtime/lifecycle/logger.ts';
import type { Listening } from '../runtime/lifecycle/run-process.ts';
import { GrpcHost } from '../runtime/rpc/host.ts';
import { HttpDoor } from '../runtime/rpc/http-door.ts';
import { openIdentity } from '../runtime/rpc/identity/open-identity.ts';
import { requestLog } from '../runtime/rpc/request-log.ts';
import type { StockConfig } from './config.ts';
import { stockTables } from './db/migrations/001-stock.ts';
import { openStockDb } from './db/models.ts';
import { stockScopes } from './rpc/scopes.ts';
import { stockService } from './rpc/stock-service.ts';

/** Starts stock-svc: migrates, then listens. */
export async function startStockService(config: StockConfig, logger: Logger): Promise<Listening> {
  const identity = openIdentity(config, logger);
  const db = openStockDb({ url: config.DATABASE_URL, poolSize: config.DATABASE_POOL_SIZE });
  const serving = {
    tls: identity.tls,
    interceptors: [requestLog(logger), identity.interceptor, stockScopes],
    deadline: { defaultMs: config.DEFAULT_DEADLINE_MS, maxMs: config.MAX_DEADLINE_MS },
  };
  const host = new GrpcHost(serving);
  const door = new HttpDoor({ ...serving, corsOrigins: config.HTTP_CORS_ORIGINS });
  const stop = async () => {
    await Promise.all([host.stop(config.DRAIN_MS), door.stop(config.DRAIN_MS)]);
    identity.close();
    await db.sequelize.close();
  };
  try {
    await migrate(db.sequelize, [stockTables], logger);
    const service = stockService(db, config.BATCH_SIZE);
    host.add(StockService, service);
    door.add(StockService, service);
    const address = await host.listen(config.LISTEN_ADDRESS);
    const httpAddress = config.HTTP_LISTEN_ADDRESS && (await door.listen(config.HTTP_LISTEN_ADDRESS));
    logger.info({ address, http_address: httpAddress }, 'listening');
    return { address, httpAddress, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
