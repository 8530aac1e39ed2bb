import type { ChannelCredentials } from '@grpc/grpc-js';
import { z } from 'zod';
import { noTokenInClear, optionalText as text, requireTogether } from '../../lifecycle/config.ts';
import type { Logger } from '../../lifecycle/logger.ts';
import { nameFile, WatchedFiles } from '../../lifecycle/watched-files.ts';
import { channelCredentials } from '../grpc-credentials.ts';
import { watchTlsFiles } from '../tls.ts';

/**
 * The variables that say where stock-svc is and how it is shown who calls, for the schema of whoever calls it. `stockChecks` must be checked
 * too. Null: not set.
 */
export const stockVariables = {
  STOCK_TARGET: z.string().default('127.0.0.1:50052'),
  STOCK_TLS_CA_FILE: text,
  STOCK_TLS_CERT_FILE: text,
  STOCK_TLS_KEY_FILE: text,
  STOCK_TOKEN_FILE: text,
};

export type StockSettings = z.infer<z.ZodObject<typeof stockVariables>>;

/** What the variables must be, taken together; for `loadConfig`. */
export const stockChecks = [
  requireTogether({
    STOCK_TLS_CERT_FILE: ['STOCK_TLS_KEY_FILE', 'STOCK_TLS_CA_FILE'],
    STOCK_TLS_KEY_FILE: ['STOCK_TLS_CERT_FILE', 'STOCK_TLS_CA_FILE'],
  }),
  noTokenInClear('STOCK_TOKEN_FILE', { target: 'STOCK_TARGET', ca: 'STOCK_TLS_CA_FILE' }),
] as const;

/** How stock-svc is shown who calls: by certificate, by token, by both, or by being on the same machine. Files are read again when they change. */
export interface StockAccess {
  /** Undefined: plain text. */
  readonly credentials: ChannelCredentials | undefined;
  /** The bearer token as it is now. Undefined: none is shown. */
  readonly token: (() => string) | undefined;
  /** Ends the watching of files. */
  close(): void;
}

/** @throws ConfigError when a file cannot be read, or is no good. */
export function openStockAccess(settings: StockSettings, logger: Logger): StockAccess {
  const ca = nameFile('STOCK_TLS_CA_FILE', settings);
  const cert = nameFile('STOCK_TLS_CERT_FILE', settings);
  const key = nameFile('STOCK_TLS_KEY_FILE', settings);
  const file = nameFile('STOCK_TOKEN_FILE', settings);
  const tls = ca && watchTlsFiles({ ca, cert, key }, logger);
  const token = file && new WatchedFiles({ files: { token: file }, parse: tokenIn, logger });
  return {
    credentials: tls && channelCredentials(tls),
    token: token && (() => token.current()),
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
