import { z } from 'zod';
import { databaseUrl, integer, listenAddress, loadConfig, logLevel } from '../runtime/lifecycle/config.ts';

const schema = z.object({
  DATABASE_URL: databaseUrl,
  STOCK_TARGET: z.string().default('127.0.0.1:50052'),
  LISTEN_ADDRESS: listenAddress('127.0.0.1:50051'),
  LOG_LEVEL: logLevel,
  BATCH_SIZE: integer(1, 256, 64),
  DATABASE_POOL_SIZE: integer(2, 1000, 10),
  MAX_CALLS: integer(1, 1_000_000, 512),
  MAX_NEW_ORDERS: integer(1, 1_000_000, 256),
  STOCK_ATTEMPT_MS: integer(10, 600_000, 2_000),
  COMPENSATION_MS: integer(100, 600_000, 3_000),
  CLAIM_MARGIN_MS: integer(0, 600_000, 10_000),
  REAPER_INTERVAL_MS: integer(10, 600_000, 1_000),
  RELAY_INTERVAL_MS: integer(10, 600_000, 200),
  EVENT_LEASE_MS: integer(1_000, 600_000, 30_000),
  EVENT_MAX_ATTEMPTS: integer(1, 100_000, 50),
  WORKER_LEASE_MS: integer(300, 600_000, 30_000),
  DRAIN_MS: integer(0, 600_000, 10_000),
});

export type OrderConfig = z.infer<typeof schema>;

export function loadOrderConfig(env: NodeJS.ProcessEnv): OrderConfig {
  return loadConfig(schema, env);
}
