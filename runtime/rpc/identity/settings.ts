import { z } from 'zod';
import { isLoopback, onOff, optionalText as text } from '../../lifecycle/config.ts';

const list = z
  .string()
  .transform((value) => value.split(',').map((entry) => entry.trim()))
  .refine((entries) => entries.every((entry) => entry !== ''), 'must be a list with commas')
  .default([]);

/** The variables that say who may call, for a service's schema, which `checkSettings` must check too. Null, or an empty list: not set. */
export const identityVariables = {
  TLS_CERT_FILE: text,
  TLS_KEY_FILE: text,
  TLS_CLIENT_CA_FILE: text,
  TLS_CLIENT_NAMES: list,
  TLS_TERMINATED: onOff('off'),
  JWT_JWKS_URL: text.refine((url) => url === null || isSafeUrl(url), 'must be https, or http to this machine'),
  JWT_JWKS_FILE: text,
  JWT_SECRET_FILE: text,
  JWT_SECRET: text,
  JWT_ISSUER: text,
  JWT_AUDIENCE: text,
  JWT_ALGORITHMS: list,
  TRUST_LOOPBACK: onOff('off').unwrap().nullable().default(null),
};

export type IdentitySettings = z.infer<z.ZodObject<typeof identityVariables>>;

/** The variables that may say where the keys of tokens come from: one of them. */
export const KEY_SOURCES = ['JWT_JWKS_URL', 'JWT_JWKS_FILE', 'JWT_SECRET_FILE', 'JWT_SECRET'] as const;

/** Signatures by kind of key, the usual ones first. Never `none`, and never a shared secret's where keys are public. */
export const ALGORITHMS = {
  public: ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519', 'RS384', 'RS512', 'PS384', 'PS512', 'ES384', 'ES512'],
  secret: ['HS256', 'HS384', 'HS512'],
};
const USUAL = { public: 5, secret: 1 };

/** Those of KEY_SOURCES that are set. None: no token is believed. */
export function keySourcesIn(settings: IdentitySettings): (typeof KEY_SOURCES)[number][] {
  return KEY_SOURCES.filter((variable) => settings[variable] !== null);
}

export function kindOfKey(settings: IdentitySettings): 'public' | 'secret' {
  return keySourcesIn(settings)[0]?.startsWith('JWT_SECRET') ? 'secret' : 'public';
}

/** The signatures that a token may have: those that are listed, else the usual ones. */
export function algorithmsOf(settings: IdentitySettings): string[] {
  const kind = kindOfKey(settings);
  return settings.JWT_ALGORITHMS.length > 0 ? settings.JWT_ALGORITHMS : ALGORITHMS[kind].slice(0, USUAL[kind]);
}

/** RFC 7518, 3.2: a secret is at least as long as the hash, 32 bytes for HS256. */
export function minSecretBytes(settings: IdentitySettings): number {
  return Math.max(...algorithmsOf(settings).map((algorithm) => Number(algorithm.slice(2)) / 8));
}

/** Whether a caller can be known by more than where he connects from. */
export function identifiesCallers(settings: IdentitySettings): boolean {
  return keySourcesIn(settings).length > 0 || settings.TLS_CLIENT_CA_FILE !== null;
}

/** Whether this machine is trusted. By default only where callers are known by nothing else, and no proxy brings strangers' calls. */
export function trustsLoopback(settings: IdentitySettings): boolean {
  const fallback = identifiesCallers(settings) || settings.TLS_TERMINATED === 'on' ? 'off' : 'on';
  return (settings.TRUST_LOOPBACK ?? fallback) === 'on';
}

function isSafeUrl(given: string): boolean {
  const url = URL.parse(given);
  return url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
}
