import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  errors,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from 'jose';
import type { Logger } from '../../lifecycle/logger.ts';
import { type NamedFile, WatchedFiles } from '../../lifecycle/watched-files.ts';
import { commonError } from '../errors.ts';

/** Where the keys of tokens come from. */
export interface TokenKeys {
  /** Throws a JOSEError when the token has no key here, SERVICE_UNAVAILABLE when the keys cannot be had now. */
  readonly get: JWTVerifyGetKey;
  /** Calls the listener when other keys may be in force. */
  onChange(listener: () => void): void;
  /** Ends the watching. */
  close(): void;
}

/** Public keys in a file (JWKS), read again when it changes. */
export function keysInFile(file: NamedFile, logger: Logger, intervalMs?: number): TokenKeys {
  const parse = ({ jwks }: { jwks?: Buffer }) => publicKeys(jwks!.toString());
  const files = new WatchedFiles({ files: { jwks: file }, parse, logger, intervalMs });
  return inFiles(files, (...args) => files.current()(...args));
}

/** A shared secret in a file, read again when it changes. A line feed at its end is no part of it. */
export function secretInFile(file: NamedFile, minBytes: number, logger: Logger, intervalMs?: number): TokenKeys {
  const parse = ({ secret }: { secret?: Buffer }) => {
    const bytes = Buffer.from(secret!.toString('latin1').replace(/\r?\n$/, ''), 'latin1');
    if (bytes.length < minBytes) throw new Error(`must hold at least ${minBytes} bytes`);
    return bytes;
  };
  const files = new WatchedFiles({ files: { secret: file }, parse, logger, intervalMs });
  return inFiles(files, () => files.current());
}

/** A shared secret that stays. */
export function fixedSecret(secret: Uint8Array): TokenKeys {
  return { get: () => secret, onChange() {}, close() {} };
}

/** How the keys of a URL are kept. Times in milliseconds. */
export interface UrlKeysOptions {
  /** Between two fetches. Default 5 minutes. */
  refreshMs?: number;
  /** How long keys stay in force that cannot be fetched again. Default 1 hour. */
  maxAgeMs?: number;
  /** From a fetch to one that a token with an unknown key may cause. Default 5 s. */
  cooldownMs?: number;
  /** From a fetch that failed to the next. Default 1 s. */
  pauseMs?: number;
}

/** Public keys at a URL (JWKS), fetched now, again from time to time, and when a token's key is not among them. */
export function keysAtUrl(url: string, logger: Logger, options: UrlKeysOptions = {}): TokenKeys {
  const { refreshMs = 300_000, maxAgeMs = 3_600_000, cooldownMs = 5_000, pauseMs = 1_000 } = options;
  const listeners: (() => void)[] = [];
  let failure: { error: unknown; pausedUntilMs: number } | undefined;
  const keys = createRemoteJWKSet(new URL(url), {
    timeoutDuration: 2_000,
    cooldownDuration: cooldownMs,
    cacheMaxAge: maxAgeMs,
    async [customFetch](...request) {
      if (failure && performance.now() < failure.pausedUntilMs) throw failure.error;
      try {
        const response = await fetch(...request);
        if (response.status !== 200) throw new Error(`answered with status ${response.status}`);
        return response;
      } catch (error) {
        failure = { error, pausedUntilMs: performance.now() + pauseMs };
        throw error;
      }
    },
  });
  const refresh = async () => {
    try {
      await keys.reload();
      listeners.forEach((listener) => listener());
    } catch (err) {
      logger.error({ err }, 'the keys at JWT_JWKS_URL cannot be fetched');
    }
  };
  const timer = setInterval(() => void refresh(), refreshMs).unref();
  void refresh();
  return {
    get: (...args) =>
      keys(...args).catch((error: unknown) => {
        throw isOfToken(error) ? error : away(error);
      }),
    onChange: (listener) => void listeners.push(listener),
    close: () => clearInterval(timer),
  };
}

function inFiles<T>(files: WatchedFiles<T>, get: JWTVerifyGetKey): TokenKeys {
  return { get, onChange: (listener) => files.onChange(listener), close: () => files.close() };
}

function publicKeys(text: string) {
  const jwks = JSON.parse(text) as JSONWebKeySet;
  const keys = createLocalJWKSet(jwks);
  if (jwks.keys.length === 0) throw new Error('there is no key in it');
  if (jwks.keys.some((key) => key.kty === 'oct' || 'd' in key)) throw new Error('there is a private key in it');
  return keys;
}

/** Whether looking for a token's key failed because of the token. */
function isOfToken(error: unknown): boolean {
  const { JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported } = errors;
  return [JWKSNoMatchingKey, JWKSMultipleMatchingKeys, JOSENotSupported].some((kind) => error instanceof kind);
}

function away(cause: unknown): Error {
  return commonError('SERVICE_UNAVAILABLE', 'the keys to check tokens with cannot be had now', { cause });
}
