import { z } from 'zod';

/** The configuration is wrong. The message names every wrong variable, and no value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Says what is wrong with variables taken together: `context.addIssue({ code: 'custom', path: [variable], message })`. */
export type ConfigCheck<C> = (config: C, context: z.RefinementCtx) => void;

/** Reads a service's configuration from the environment. A variable that is set to nothing counts as not set. */
export function loadConfig<S extends z.ZodType>(
  schema: S,
  env: NodeJS.ProcessEnv,
  ...checks: ConfigCheck<z.infer<S>>[]
): z.infer<S> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  // Checked also when single variables are wrong, so that one message names all.
  const all = schema.superRefine((config, context) => checks.forEach((check) => check(config, context)), {
    when: () => true,
  });
  const result = all.safeParse(given);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
  throw new ConfigError(`wrong configuration:\n${lines.join('\n')}`);
}

/** A text, or null when it is not set. */
export const optionalText = z.string().nullable().default(null);

/** A whole number from `min` to `max`, written in decimal. */
export function integer(min: number, max: number, fallback: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
    .default(fallback);
}

/** `mysql://user:password@host:port/database`. Required. */
export const databaseUrl = z.string('is required: mysql://user:password@host:port/database').refine((text) => {
  const url = URL.parse(text);
  return url?.protocol === 'mysql:' && url.hostname !== '' && url.pathname.length > 1;
}, 'must be mysql://user:password@host:port/database');

const address = z
  .string()
  .refine((text) => /^.+:\d{1,5}$/.test(text) && Number(text.split(':').at(-1)) <= 65_535, 'must be host:port');

/** `host:port` to listen on. Who may reach it is for `checkSettings` of runtime/rpc/identity. */
export function listenAddress(fallback: string) {
  return address.default(fallback);
}

/** The same, or null when it is not set: nothing listens. */
export const optionalListenAddress = address.nullable().default(null);

/** Origins of pages that may call from a browser, with commas. Default: none. */
export const corsOrigins = z
  .string()
  .transform((text) => text.split(',').map((origin) => origin.trim()))
  .refine((origins) => origins.every(isOrigin), 'must be origins such as https://shop.example, with commas')
  .default([]);

/** As browsers send it: scheme and host, the port unless it is the scheme's own, and nothing behind. */
function isOrigin(text: string): boolean {
  return /^https?:[^*]+$/.test(text) && URL.parse(text)?.origin === text;
}

/** Whether a host is this machine and no other: as written, nothing is looked up. */
export function isLoopback(host: string): boolean {
  return /^(127\.\d+\.\d+\.\d+|localhost|\[::1\])$/.test(host);
}

/** Checks that where a variable is set, those that it needs are set too. Null, or an empty list, is not set. */
export function requireTogether(needs: Record<string, readonly string[]>): ConfigCheck<Record<string, unknown>> {
  return (config, context) => {
    const unset = (variable: string) =>
      Array.isArray(config[variable]) ? config[variable].length === 0 : config[variable] === null;
    for (const [variable, others] of Object.entries(needs).filter(([name]) => !unset(name))) {
      for (const other of others.filter(unset)) {
        context.addIssue({ code: 'custom', path: [other], message: `is required with ${variable}` });
      }
    }
  };
}

/** Checks that a token in a file is not sent in clear to another machine. Each is the name of a variable; `ca` is what turns TLS on. */
export function noTokenInClear<Token extends string, Ca extends string, Target extends string>(
  token: Token,
  { target, ca }: { target: Target; ca: Ca },
): ConfigCheck<Record<Token | Ca, string | null> & Record<Target, string>> {
  return (config, context) => {
    if (config[token] === null || config[ca] !== null || isLoopback(config[target].replace(/:\d+$/, ''))) return;
    const message = `would be sent in clear: needs ${ca} unless ${target} is a loopback address`;
    context.addIssue({ code: 'custom', path: [token], message });
  };
}

/** Lowest level that is logged. */
export const logLevel = z
  .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    error: 'must be fatal, error, warn, info, debug, trace or silent',
  })
  .default('info');

/** Something that can be turned off. */
export function onOff(fallback: 'on' | 'off') {
  return z.enum(['on', 'off'], { error: 'must be on or off' }).default(fallback);
}
