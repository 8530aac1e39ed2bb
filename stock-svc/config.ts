import { z } from 'zod';
import {
  corsOrigins,
  databaseUrl,
  integer,
  listenAddress,
  loadConfig,
  logLevel,
  onOff,
  optionalListenAddress,
} from '../runtime/lifecycle/config.ts';
import { checkSettings } from '../runtime/rpc/identity/check-settings.ts';
import { identityVariables } from '../runtime/rpc/identity/settings.ts';

const schema = z.object({
  DATABASE_URL: databaseUrl,
  LISTEN_ADDRESS: listenAddress('127.0.0.1:50052'),
  HTTP_LISTEN_ADDRESS: optionalListenAddress,
  HTTP_CORS_ORIGINS: corsOrigins,
  ...identityVariables,
  LOG_LEVEL: logLevel,
  BATCH_SIZE: integer(1, 256, 64),
  DATABASE_POOL_SIZE: integer(2, 1000, 10),
  HEALTH_INTERVAL_MS: integer(10, 600_000, 1_000),
  REFLECTION: onOff('on'),
  CONNECTION_AGE_MS: integer(1_000, 86_400_000, 300_000),
  DRAIN_DELAY_MS: integer(0, 600_000, 0),
  MAX_CALLS: integer(1, 1_000_000, 512),
  DRAIN_MS: integer(0, 600_000, 10_000),
});

export type StockConfig = z.infer<typeof schema>;

export function loadStockConfig(env: NodeJS.ProcessEnv): StockConfig {
  return loadConfig(schema, env, checkSettings);
}
