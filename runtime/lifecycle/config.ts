import { z } from 'zod';

/** The configuration is wrong. The message names every wrong variable, and no value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads a service's configuration from the environment. A variable that is set to nothing counts as not set. */
export function loadConfig<S extends z.ZodType>(schema: S, env: NodeJS.ProcessEnv): z.infer<S> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`);
  throw new ConfigError(`wrong configuration:\n${lines.join('\n')}`);
}

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

/**
 * `host:port` to listen on. Nothing but loopback is allowed while no identity is configured: whoever connects is trusted. Where the
 * fallback is `none`, that is allowed too: nothing listens.
 */
export function listenAddress(fallback: string) {
  const isNone = (text: string) => text === 'none' && fallback === 'none';
  return z
    .string()
    .default(fallback)
    .refine((text) => isNone(text) || isAddress(text), 'must be host:port')
    .refine(
      (text) => isNone(text) || /^(127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+$/.test(text),
      'must be a loopback address: callers are not identified, so no other may reach this service',
    );
}

function isAddress(text: string): boolean {
  return /^.+:\d{1,5}$/.test(text) && Number(text.split(':').at(-1)) <= 65_535;
}

/** Origins of pages that may call from a browser, separated by commas. Default: none. */
export const corsOrigins = z
  .string()
  .default('none')
  .transform((text) => (text === 'none' ? [] : text.split(',').map((origin) => origin.trim())))
  .refine((origins) => origins.every(isOrigin), 'must be origins such as https://shop.example, separated by commas');

/** As browsers send it: scheme and host, the port unless it is the scheme's own, and nothing behind. */
function isOrigin(text: string): boolean {
  return /^https?:[^*]+$/.test(text) && URL.parse(text)?.origin === text;
}

/** Lowest level that is logged. */
export const logLevel = z
  .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    error: 'must be fatal, error, warn, info, debug, trace or silent',
  })
  .default('info');
