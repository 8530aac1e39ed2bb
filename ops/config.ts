import { z } from 'zod';
import { type ConfigCheck, databaseUrl, integer, loadConfig } from '../runtime/lifecycle/config.ts';
import { stockChecks, type StockSettings, stockVariables } from '../runtime/rpc/identity/stock-access.ts';

const WEEK_MS = 7 * 24 * 3_600_000;

/** The variables of the commands, each with what it may be. */
export const variables = {
  ORDER_DATABASE_URL: databaseUrl,
  STOCK_DATABASE_URL: databaseUrl,
  ...stockVariables,
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

/** What stock-svc is asked with. */
export function readStockConfig(env: NodeJS.ProcessEnv): StockSettings {
  return read(env, Object.keys(stockVariables) as (keyof StockSettings)[], ...stockChecks);
}
