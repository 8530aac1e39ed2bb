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
import { stockChecks, stockVariables } from '../runtime/rpc/identity/stock-access.ts';
import { publisherFor } from './outbox/publishers.ts';

const WEEK_MS = 7 * 24 * 3_600_000;

const schema = z.object({
  DATABASE_URL: databaseUrl,
  ...stockVariables,
  LISTEN_ADDRESS: listenAddress('127.0.0.1:50051'),
  HTTP_LISTEN_ADDRESS: optionalListenAddress,
  HTTP_CORS_ORIGINS: corsOrigins,
  ...identityVariables,
  LOG_LEVEL: logLevel,
  BATCH_SIZE: integer(1, 256, 64),
  DATABASE_POOL_SIZE: integer(2, 1000, 10),
  MAX_CALLS: integer(1, 1_000_000, 512),
  MAX_NEW_ORDERS: integer(1, 1_000_000, 256),
  STOCK_ATTEMPT_MS: integer(10, 600_000, 2_000),
  COMPENSATION_MS: integer(100, 600_000, 3_000),
  CLAIM_MARGIN_MS: integer(0, 600_000, 10_000),
  REAPER_INTERVAL_MS: integer(10, 600_000, 1_000),
  EVENTS_URL: z
    .string()
    .default('log:')
    .refine((url) => publisherFor(url) !== undefined, 'must be log: or nats://user:password@host:port'),
  EVENTS_FORMAT: z.enum(['json', 'protobuf'], { error: 'must be json or protobuf' }).default('json'),
  ORDER_PAY_WINDOW_MS: integer(1_000, 31_536_000_000, 1_800_000),
  EXPIRY_INTERVAL_MS: integer(10, 600_000, 1_000),
  RELAY_INTERVAL_MS: integer(10, 600_000, 200),
  EVENT_LEASE_MS: integer(1_000, 600_000, 30_000),
  EVENT_MAX_ATTEMPTS: integer(1, 100_000, 50),
  EVENT_RETENTION_MS: integer(0, 1_000 * WEEK_MS, WEEK_MS),
  WORKER_LEASE_MS: integer(300, 600_000, 30_000),
  HEALTH_INTERVAL_MS: integer(10, 600_000, 1_000),
  REFLECTION: onOff('on'),
  CONNECTION_AGE_MS: integer(1_000, 86_400_000, 300_000),
  DRAIN_DELAY_MS: integer(0, 600_000, 0),
  DRAIN_MS: integer(0, 600_000, 10_000),
});

export type OrderConfig = z.infer<typeof schema>;

export function loadOrderConfig(env: NodeJS.ProcessEnv): OrderConfig {
  return loadConfig(schema, env, checkSettings, ...stockChecks);
}
