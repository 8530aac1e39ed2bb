import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { createLocalJWKSet, exportJWK, exportSPKI, generateKeyPair, UnsecuredJWT } from 'jose';
import { fixedSecret, type TokenKeys } from '../../../../runtime/rpc/identity/keys.ts';
import { Tokens } from '../../../../runtime/rpc/identity/tokens.ts';
import { AUDIENCE, claimsOf, Issuer, ISSUER, seconds, signed } from '../../../support/issuer.ts';

const rules = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['ES256', 'RS256'] };

/** Keys that count how often they are asked for, and can be changed. */
class CountedKeys implements TokenKeys {
  asked = 0;
  #listener = () => {};
  #keys: ReturnType<typeof createLocalJWKSet>;
  constructor(issuer: Issuer) {
    this.#keys = createLocalJWKSet({ keys: [issuer.jwk] });
  }
  readonly get: TokenKeys['get'] = (...args) => (this.asked++, this.#keys(...args));
  onChange(listener: () => void) {
    this.#listener = listener;
  }
  change(issuer: Issuer) {
    this.#keys = createLocalJWKSet({ keys: [issuer.jwk] });
    this.#listener();
  }
  close() {}
}

describe('Tokens', () => {
  let issuer: Issuer;
  let stranger: Issuer;
  let rsa: Issuer;
  let keys: CountedKeys;
  let tokens: Tokens;
  before(async () => {
    issuer = await Issuer.open();
    stranger = await Issuer.open('ES256', issuer.jwk.kid);
    rsa = await Issuer.open('RS256');
  });
  beforeEach(() => {
    keys = new CountedKeys(issuer);
    tokens = new Tokens(keys, rules);
  });

  const good: [string, () => Record<string, unknown>, { subject?: string; scopes?: string[] }][] = [
    ['a user', () => ({}), { subject: '42' }],
    ['nobody in particular', () => ({ sub: undefined }), { subject: undefined }],
    ['one of many audiences', () => ({ aud: ['other', AUDIENCE] }), {}],
    ['an expiry a moment ago, by our clock', () => ({ exp: seconds(-2) }), {}],
    ['a start in a moment, by our clock', () => ({ nbf: seconds(2) }), {}],
    ['scope', () => ({ scope: 'stock.read stock.write' }), { scopes: ['stock.read', 'stock.write'] }],
    ['scp as a list', () => ({ scp: ['stock.read', 7] }), { scopes: ['stock.read'] }],
    ['scp as text', () => ({ scp: 'stock.read' }), { scopes: ['stock.read'] }],
    ['both, of which scope counts', () => ({ scope: 'stock.read', scp: ['stock.write'] }), { scopes: ['stock.read'] }],
    ['a scope that is no text', () => ({ scope: { 'stock.write': true } }), {}],
  ];
  for (const [what, claims, expected] of good) {
    it(`takes a token with ${what}`, async () => {
      const scopes = new Set(expected.scopes ?? []);
      const subject = 'subject' in expected ? expected.subject : '42';
      assert.deepEqual(await tokens.verify(await issuer.token(claims())), { subject, scopes });
    });
  }

  const bad: [string, () => Promise<string> | string, RegExp][] = [
    ['that has expired', () => issuer.token({ exp: seconds(-10) }), /ERR_JWT_EXPIRED/],
    ['that never expires', () => issuer.token({ exp: undefined }), /missing required "exp"/],
    ['whose expiry is text', () => issuer.token({ exp: String(seconds(60)) }), /"exp" claim must be a number/],
    ['that is not valid yet', () => issuer.token({ nbf: seconds(10) }), /"nbf" claim/],
    ['for another audience', () => issuer.token({ aud: 'other' }), /unexpected "aud"/],
    ['for no audience', () => issuer.token({ aud: undefined }), /missing required "aud"/],
    ['of another issuer', () => issuer.token({ iss: 'https://evil.example' }), /unexpected "iss"/],
    ['of no issuer', () => issuer.token({ iss: undefined }), /missing required "iss"/],
    ['with alg none', () => new UnsecuredJWT(claimsOf()).encode(), /ERR_J/],
    ['with alg none and a signature', async () => withHeader(await issuer.token(), { alg: 'none' }), /"alg"/],
    ['signed with the public key as a shared secret', publicKeyAsSecret, /"alg"/],
    ['with an algorithm that is not listed', async () => (await Issuer.open('ES384')).token(), /"alg"/],
    ['with another algorithm than its key has', async () => rsa.token({}, { kid: issuer.jwk.kid }), /NO_MATCHING_KEY/],
    ['with a key that is not known', () => issuer.token({}, { kid: 'unknown' }), /NO_MATCHING_KEY/],
    ['signed with another key of that name', () => stranger.token(), /signature verification failed/],
    ['that brings its own key', async () => stranger.token({}, { jwk: stranger.jwk }), /signature verification failed/],
    ['that says where its key is', () => stranger.token({}, { jku: 'https://evil.example/' }), /signature verif/],
    ['with a critical header that we do not know', async () => withHeader(await issuer.token(), odd()), /"odd"/],
    [
      'whose claims were changed',
      async () => withClaims(await issuer.token(), claimsOf({ sub: '1' })),
      /signature verif/,
    ],
    ['whose user is a number', () => issuer.token({ sub: 42 }), /sub is not text/],
    ['without a signature', async () => (await issuer.token()).replace(/[^.]*$/, ''), /signature verification failed/],
    ['of two parts', async () => (await issuer.token()).replace(/\.[^.]*$/, ''), /ERR_J/],
    ['that is no token', () => 'x', /ERR_J/],
    ['that is empty', () => '', /ERR_J/],
  ];
  for (const [what, make, why] of bad) {
    it(`takes no token ${what}`, async () => {
      const token = await make();
      const verdict = await whyNot(tokens, token);
      assert.match(verdict, why);
      for (const part of token.split('.').filter((text) => text.length > 1)) {
        assert.ok(!verdict.includes(part), 'nothing of the token is logged');
      }
      assert.equal(await whyNot(tokens, token), verdict, 'nor a moment later');
    });
  }

  describe('with a shared secret', () => {
    const secret = Buffer.from('a secret of two and thirty bytes');
    const shared = () => new Tokens(fixedSecret(secret), { ...rules, algorithms: ['HS256'] });
    it('takes what is signed with it', async () => {
      const token = await signed({}, { alg: 'HS256' }, secret);
      assert.deepEqual(await shared().verify(token), { subject: '42', scopes: new Set() });
    });
    it('takes nothing signed with another, or by a key pair, or not at all', async () => {
      const other = Buffer.from('a secret of four and thirty bytes!');
      assert.match(await whyNot(shared(), await signed({}, { alg: 'HS256' }, other)), /signature verif/);
      assert.match(await whyNot(shared(), await issuer.token()), /"alg"/);
      assert.match(await whyNot(shared(), new UnsecuredJWT(claimsOf()).encode()), /ERR_J/);
    });
  });

  describe('remember a good token', () => {
    beforeEach(() => mock.timers.enable({ apis: ['Date'], now: Date.now() }));
    afterEach(() => mock.timers.reset());

    it('for a minute, and then look at its signature again', async () => {
      const token = await issuer.token({ exp: seconds(3600) });
      const caller = await tokens.verify(token);
      assert.deepEqual([await tokens.verify(token), keys.asked], [caller, 1]);
      mock.timers.tick(59_999);
      await tokens.verify(token);
      assert.equal(keys.asked, 1);
      mock.timers.tick(1);
      assert.deepEqual([await tokens.verify(token), keys.asked], [caller, 2]);
      await tokens.verify(token);
      assert.equal(keys.asked, 2);
    });

    it('not beyond its expiry', async () => {
      const token = await issuer.token({ exp: seconds(10) });
      assert.equal(typeof (await tokens.verify(token)), 'object');
      mock.timers.tick(16_000);
      assert.match(await whyNot(tokens, token), /ERR_JWT_EXPIRED/);
    });

    it('not when other keys are in force', async () => {
      const token = await issuer.token();
      assert.equal(typeof (await tokens.verify(token)), 'object');
      keys.change(rsa);
      assert.match(await whyNot(tokens, token), /NO_MATCHING_KEY/);
      assert.equal(typeof (await tokens.verify(await rsa.token())), 'object');
    });

    it('not when the keys changed while it was looked at', async () => {
      const token = await issuer.token();
      const verdict = tokens.verify(token);
      keys.change(rsa);
      await verdict;
      assert.match(await whyNot(tokens, token), /NO_MATCHING_KEY/);
    });

    it('by the whole token: a changed one is looked at', async () => {
      const token = await issuer.token();
      await tokens.verify(token);
      assert.match(await whyNot(tokens, withClaims(token, claimsOf({ sub: '1' }))), /signature verif/);
    });

    it('among 1,000 at most: the oldest is forgotten', async () => {
      const first = await issuer.token();
      const rest = await Promise.all(Array.from({ length: 1000 }, (_, i) => issuer.token({ jti: String(i) })));
      for (const token of [first, ...rest]) await tokens.verify(token);
      assert.equal(keys.asked, 1001);
      await tokens.verify(rest[0]!);
      assert.equal(keys.asked, 1001);
      await tokens.verify(first);
      assert.equal(keys.asked, 1002);
    });
  });

  const odd = () => ({ alg: 'ES256', kid: issuer.jwk.kid, crit: ['odd'], odd: true });

  /** What any caller could make who knows the public key: three ways to take it for a secret. */
  async function publicKeyAsSecret(): Promise<string> {
    const { publicKey } = await generateKeyPair('RS256', { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: 'rsa' };
    const pem = await exportSPKI(publicKey);
    const verdicts = new Tokens({ ...keys, get: createLocalJWKSet({ keys: [jwk] }), onChange() {}, close() {} }, rules);
    for (const secret of [JSON.stringify(jwk), jwk.n!]) {
      const token = await signed({}, { alg: 'HS256', kid: 'rsa' }, Buffer.from(secret));
      assert.match(await whyNot(verdicts, token), /"alg"/);
    }
    return signed({}, { alg: 'HS256', kid: 'rsa' }, Buffer.from(pem));
  }
});

/** Why a token is not believed. */
async function whyNot(tokens: Tokens, token: string): Promise<string> {
  const verdict = await tokens.verify(token);
  assert.ok(typeof verdict === 'string', 'it is believed');
  return verdict;
}

const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');

function withHeader(token: string, header: object): string {
  return token.replace(/^[^.]*/, encode(header));
}

function withClaims(token: string, claims: object): string {
  return token.replace(/\.[^.]*\./, `.${encode(claims)}.`);
}
