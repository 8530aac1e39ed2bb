import type { Client } from '@connectrpc/connect';
import { type Connected, connectStockService } from '../client/clients.ts';
import type { StockService } from '../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { silentLogger } from '../runtime/lifecycle/logger.ts';
import { openStockAccess } from '../runtime/rpc/identity/stock-access.ts';
import { readStockConfig } from './config.ts';

/** A client of stock-svc that shows who it is as order-svc does. */
export function openStockService(env: NodeJS.ProcessEnv): Connected<Client<typeof StockService>> {
  const config = readStockConfig(env);
  const { credentials, token } = openStockAccess(config, silentLogger);
  return connectStockService(config.STOCK_TARGET, { ...(credentials && { credentials }), ...(token && { token }) });
}
