import { z } from 'zod';
import {
  type ConfigCheck,
  databaseUrl,
  integer,
  loadConfig,
  noTokenInClear,
  optionalText,
  requireTogether,
} from '../runtime/lifecycle/config.ts';

const WEEK_MS = 7 * 24 * 3_600_000;

/** The variables of the commands, each with what it may be. */
export const variables = {
  ORDER_DATABASE_URL: databaseUrl,
  STOCK_DATABASE_URL: databaseUrl,
  STOCK_TARGET: z.string().default('127.0.0.1:50052'),
  STOCK_TLS_CA_FILE: optionalText,
  STOCK_TLS_CERT_FILE: optionalText,
  STOCK_TLS_KEY_FILE: optionalText,
  STOCK_TOKEN_FILE: optionalText,
  EVENT_RETENTION_MS: integer(0, 1_000 * WEEK_MS, WEEK_MS),
};

type Config = { [Name in keyof typeof variables]: z.infer<(typeof variables)[Name]> };

/** Reads some of them: a command needs only those that it uses. @throws ConfigError that names every wrong one. */
export function read<Name extends keyof Config>(
  env: NodeJS.ProcessEnv,
  names: readonly Name[],
  ...checks: ConfigCheck<Pick<Config, Name>>[]
): Pick<Config, Name> {
  const schema = z.object(Object.fromEntries(names.map((name) => [name, variables[name]])));
  const all = checks as ConfigCheck<Record<string, unknown>>[];
  return loadConfig(schema, env, ...all) as Pick<Config, Name>;
}

const stockNames = [
  'STOCK_TARGET',
  'STOCK_TLS_CA_FILE',
  'STOCK_TLS_CERT_FILE',
  'STOCK_TLS_KEY_FILE',
  'STOCK_TOKEN_FILE',
] as const;
type StockConfig = Pick<Config, (typeof stockNames)[number]>;

/** What stock-svc is asked with. */
export function readStockConfig(env: NodeJS.ProcessEnv): StockConfig {
  const together = requireTogether({
    STOCK_TLS_CERT_FILE: ['STOCK_TLS_KEY_FILE', 'STOCK_TLS_CA_FILE'],
    STOCK_TLS_KEY_FILE: ['STOCK_TLS_CERT_FILE', 'STOCK_TLS_CA_FILE'],
  });
  return read(env, stockNames, together, checkStockToken);
}

const checkStockToken = noTokenInClear('STOCK_TOKEN_FILE', { target: 'STOCK_TARGET', ca: 'STOCK_TLS_CA_FILE' });
