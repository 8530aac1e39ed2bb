import { z } from 'zod';
import { databaseUrl, integer, loadConfig } from '../runtime/lifecycle/config.ts';

const WEEK_MS = 7 * 24 * 3_600_000;

/** The variables of the commands, each with what it may be. */
export const variables = {
  ORDER_DATABASE_URL: databaseUrl,
  STOCK_DATABASE_URL: databaseUrl,
  STOCK_TARGET: z.string().default('127.0.0.1:50052'),
  EVENT_RETENTION_MS: integer(0, 1_000 * WEEK_MS, WEEK_MS),
};

type Config = { [Name in keyof typeof variables]: z.infer<(typeof variables)[Name]> };

/** Reads some of them: a command needs only those that it uses. @throws ConfigError that names every wrong one. */
export function read<Name extends keyof Config>(env: NodeJS.ProcessEnv, ...names: Name[]): Pick<Config, Name> {
  const schema = z.object(Object.fromEntries(names.map((name) => [name, variables[name]])));
  return loadConfig(schema, env) as Pick<Config, Name>;
}
