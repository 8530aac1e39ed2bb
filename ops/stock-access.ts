import { type Connected, connectStockService } from '../client/clients.ts';
import type { Client } from '@connectrpc/connect';
import type { StockService } from '../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { silentLogger } from '../runtime/lifecycle/logger.ts';
import { nameFile, WatchedFiles } from '../runtime/lifecycle/watched-files.ts';
import { channelCredentials } from '../runtime/rpc/grpc-credentials.ts';
import { watchTlsFiles } from '../runtime/rpc/tls.ts';
import { readStockConfig } from './config.ts';

/** A client of stock-svc that shows who it is as order-svc does: by certificate, by token, or by being on the same machine. */
export function openStockService(env: NodeJS.ProcessEnv): Connected<Client<typeof StockService>> {
  const config = readStockConfig(env);
  const ca = nameFile('STOCK_TLS_CA_FILE', config);
  const cert = nameFile('STOCK_TLS_CERT_FILE', config);
  const key = nameFile('STOCK_TLS_KEY_FILE', config);
  const file = nameFile('STOCK_TOKEN_FILE', config);
  const tls = ca && watchTlsFiles({ ca, cert, key }, silentLogger);
  const token =
    file && new WatchedFiles({ files: { file }, parse: (read) => String(read.file).trim(), logger: silentLogger });
  return connectStockService(config.STOCK_TARGET, {
    ...(tls && { credentials: channelCredentials(tls) }),
    ...(token && { token: () => token.current() }),
  });
}
