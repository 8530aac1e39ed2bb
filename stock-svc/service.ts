import { StockService } from '../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { migrate } from '../runtime/db/migrate.ts';
import type { Logger } from '../runtime/lifecycle/logger.ts';
import type { Running } from '../runtime/lifecycle/run-process.ts';
import { GrpcHost } from '../runtime/rpc/host.ts';
import { openIdentity } from '../runtime/rpc/identity/open-identity.ts';
import { admission, Bound } from '../runtime/rpc/overload.ts';
import { requestLog } from '../runtime/rpc/request-log.ts';
import type { StockConfig } from './config.ts';
import { stockTables } from './db/migrations/001-stock.ts';
import { openStockDb } from './db/models.ts';
import { stockDeadlines } from './rpc/deadlines.ts';
import { stockScopes } from './rpc/scopes.ts';
import { stockService } from './rpc/stock-service.ts';

/** Starts stock-svc: migrates, then listens. */
export async function startStockService(config: StockConfig, logger: Logger): Promise<Running & { address: string }> {
  const identity = openIdentity(config, logger);
  const db = openStockDb({ url: config.DATABASE_URL, poolSize: config.DATABASE_POOL_SIZE });
  const host = new GrpcHost({
    tls: identity.tls,
    interceptors: [
      admission(new Bound('calls', config.MAX_CALLS, logger)),
      requestLog(logger),
      identity.interceptor,
      stockScopes,
    ],
    deadline: stockDeadlines,
  });
  const stop = async () => {
    await host.stop(config.DRAIN_MS);
    identity.close();
    await db.sequelize.close();
  };
  try {
    await migrate(db.sequelize, [stockTables], logger);
    host.add(StockService, stockService(db, config.BATCH_SIZE));
    const address = await host.listen(config.LISTEN_ADDRESS);
    logger.info({ address }, 'listening');
    return { address, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
