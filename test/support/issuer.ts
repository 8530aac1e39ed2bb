import { randomUUID } from 'node:crypto';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';

export const ISSUER = 'https://id.example';
export const AUDIENCE = 'ordersystem';

/** Who gives out tokens, with a key of its own. */
export class Issuer {
  readonly algorithm: string;
  /** As it stands in a JWKS. */
  readonly jwk: JWK;
  readonly publicKey: CryptoKey;
  readonly #privateKey: CryptoKey;

  private constructor(algorithm: string, jwk: JWK, publicKey: CryptoKey, privateKey: CryptoKey) {
    this.algorithm = algorithm;
    this.jwk = jwk;
    this.publicKey = publicKey;
    this.#privateKey = privateKey;
  }

  static async open(algorithm = 'ES256', kid: string = randomUUID()): Promise<Issuer> {
    const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' };
    return new Issuer(algorithm, jwk, publicKey, privateKey);
  }

  /** A good token, but for what is changed; a claim that is changed to undefined is not there. */
  token(claims: Record<string, unknown> = {}, header: Partial<JWTHeaderParameters> = {}): Promise<string> {
    return signed(claims, { alg: this.algorithm, kid: this.jwk.kid, ...header }, this.#privateKey);
  }
}

/** The claims of a good token, but for what is changed. */
export function claimsOf(claims: Record<string, unknown> = {}): Record<string, unknown> {
  return { iss: ISSUER, aud: AUDIENCE, sub: '42', exp: seconds(60), ...claims };
}

export function signed(claims: object, header: JWTHeaderParameters, key: CryptoKey | Uint8Array): Promise<string> {
  return new SignJWT(claimsOf({ ...claims })).setProtectedHeader(header).sign(key);
}

/** So many seconds from now, as tokens say it. */
export function seconds(fromNow: number): number {
  return Math.floor(Date.now() / 1000) + fromNow;
}
