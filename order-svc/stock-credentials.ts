import type { Interceptor } from '@connectrpc/connect';
import type { ChannelCredentials } from '@grpc/grpc-js';
import type { Logger } from '../runtime/lifecycle/logger.ts';
import { nameFile, WatchedFiles } from '../runtime/lifecycle/watched-files.ts';
import { channelCredentials } from '../runtime/rpc/grpc-credentials.ts';
import { bearerInterceptor } from '../runtime/rpc/identity/bearer.ts';
import { watchTlsFiles } from '../runtime/rpc/tls.ts';
import type { OrderConfig } from './config.ts';

/** How order-svc shows stock-svc who it is: by certificate, by token, by both, or by being on the same machine. */
export interface StockCredentials {
  readonly credentials: ChannelCredentials | undefined;
  /** For the end of the channel's interceptors. */
  readonly interceptors: Interceptor[];
  /** Ends the watching of files. */
  close(): void;
}

export function openStockCredentials(config: OrderConfig, logger: Logger): StockCredentials {
  const ca = nameFile('STOCK_TLS_CA_FILE', config);
  const cert = nameFile('STOCK_TLS_CERT_FILE', config);
  const key = nameFile('STOCK_TLS_KEY_FILE', config);
  const tls = ca && watchTlsFiles({ ca, cert, key }, logger);
  const file = nameFile('STOCK_TOKEN_FILE', config);
  const token = file && new WatchedFiles({ files: { token: file }, parse: tokenIn, logger });
  return {
    credentials: tls && channelCredentials(tls),
    interceptors: token ? [bearerInterceptor(() => token.current())] : [],
    close() {
      tls?.close();
      token?.close();
    },
  };
}

function tokenIn({ token }: { token?: Buffer }): string {
  const text = token!.toString('latin1').trim();
  if (!/^[\w.~+/-]+=*$/.test(text)) throw new Error('there is no bearer token in it');
  return text;
}
