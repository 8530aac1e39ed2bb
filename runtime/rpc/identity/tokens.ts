import { errors, type JWTPayload, jwtVerify } from 'jose';
import type { Caller } from './caller.ts';
import type { TokenKeys } from './keys.ts';

/** What a token must be, besides signed by one of the keys and not expired. */
export interface TokenRules {
  readonly issuer: string;
  readonly audience: string;
  /** The only signatures that are looked at. */
  readonly algorithms: string[];
}

/** Clocks of issuer and service may differ by so much. */
const TOLERANCE_S = 5;
/** A token that was good is believed for so long without another look at its signature; never beyond its expiry. */
const BELIEVED_MS = 60_000;
const MAX_BELIEVED = 1000;

/**
 * Checks bearer tokens (JWT). What was found good is remembered by the whole token, so that a caller's second call costs no signature:
 * as safe as the check itself, since the answer depends on the token, the keys and the time alone. Other keys empty the memory, time
 * ends each entry, and only good tokens are in it, so that nobody without one can fill it.
 */
export class Tokens {
  readonly #keys: TokenKeys;
  readonly #rules: TokenRules;
  #believed = new Map<string, { caller: Caller; untilMs: number }>();

  constructor(keys: TokenKeys, rules: TokenRules) {
    this.#keys = keys;
    this.#rules = rules;
    keys.onChange(() => (this.#believed = new Map()));
  }

  /** Whom the token names; or, as text for the log, why it is not believed. */
  async verify(token: string): Promise<Caller | string> {
    // This one: what was found good by old keys must not be remembered beside what new ones find.
    const believed = this.#believed;
    const known = believed.get(token);
    if (known && Date.now() < known.untilMs) return known.caller;
    let payload: JWTPayload;
    try {
      const rules = { ...this.#rules, requiredClaims: ['exp'], clockTolerance: TOLERANCE_S };
      ({ payload } = await jwtVerify(token, this.#keys.get, rules));
    } catch (error) {
      if (error instanceof errors.JOSEError) return `${error.code}: ${error.message}`;
      throw error;
    }
    const { sub, exp } = payload;
    if (sub !== undefined && typeof sub !== 'string') return 'sub is not text';
    const caller = { subject: sub, scopes: scopesIn(payload) };
    const untilMs = Math.min(Date.now() + BELIEVED_MS, (exp! + TOLERANCE_S) * 1000);
    believed.delete(token);
    if (believed.size >= MAX_BELIEVED) believed.delete(believed.keys().next().value!);
    believed.set(token, { caller, untilMs });
    return caller;
  }
}

/** RFC 8693's `scope`, one text with spaces; or `scp`, as some issuers have it, a text or a list. */
function scopesIn({ scope, scp }: JWTPayload): ReadonlySet<string> {
  const given = scope ?? scp;
  if (typeof given === 'string') return new Set(given.split(' '));
  return new Set(Array.isArray(given) ? given.filter((one) => typeof one === 'string') : []);
}
