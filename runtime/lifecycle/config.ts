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

/** `host:port` to listen on. Nothing but loopback is allowed while no identity is configured: whoever connects is trusted. */
export function listenAddress(fallback: string) {
  return z
    .string()
    .default(fallback)
    .refine((text) => /^.+:\d{1,5}$/.test(text) && Number(text.split(':').at(-1)) <= 65_535, 'must be host:port')
    .refine(
      (text) => /^(127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+$/.test(text),
      'must be a loopback address: callers are not identified, so no other may reach this service',
    );
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
