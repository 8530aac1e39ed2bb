import assert from 'node:assert/strict';
import type { Interceptor } from '@connectrpc/connect';
import { createLocalJWKSet } from 'jose';
import { pino } from 'pino';
import { silentLogger } from '../../../../runtime/lifecycle/logger.ts';
import { errorInfoOf } from '../../../../runtime/rpc/errors.ts';
import { callerOf } from '../../../../runtime/rpc/identity/caller.ts';
import { identify, type IdentifyOptions } from '../../../../runtime/rpc/identity/identify.ts';
import { fixedSecret, keysAtUrl, type TokenKeys } from '../../../../runtime/rpc/identity/keys.ts';
import { Tokens } from '../../../../runtime/rpc/identity/tokens.ts';
import { type Peer, peerKey } from '../../../../runtime/rpc/peer.ts';
import { requestLog } from '../../../../runtime/rpc/request-log.ts';
import { failsWith } from '../../../support/expect.ts';
import { AUDIENCE, Issuer, ISSUER, seconds } from '../../../support/issuer.ts';
import { Rig } from '../rig.ts';

const rules = { issuer: ISSUER, audience: AUDIENCE, algorithms: ['ES256'] };
const LOCAL: Peer = { loopback: true, clientName: undefined };
const REMOTE: Peer = { loopback: false, clientName: undefined };
const GATEWAY: Peer = { loopback: false, clientName: 'gateway' };
const STRANGER: Peer = { loopback: false, clientName: 'stranger' };

describe('identify', () => {
  const rig = new Rig();
  let issuer: Issuer;
  let keys: TokenKeys;
  let lines: Record<string, unknown>[];
  before(async () => {
    issuer = await Issuer.open();
    keys = { ...fixedSecret(Buffer.alloc(0)), get: createLocalJWKSet({ keys: [issuer.jwk] }) };
  });
  beforeEach(() => (lines = []));
  afterEach(() => rig.close());

  /** Who the caller is taken for, over a real connection; `peer` is who the connection says that it is. */
  async function ask(
    peer: Peer,
    headers: Record<string, string> | [string, string][],
    options: Partial<IdentifyOptions> = {},
  ): Promise<unknown> {
    const connectionSays: Interceptor = (next) => (request) => {
      assert.deepEqual(request.contextValues.get(peerKey), LOCAL, 'the door has said so');
      request.contextValues.set(peerKey, peer);
      return next(request);
    };
    const stream = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    const tokens = new Tokens(keys, rules);
    const believed = { tokens, clientNames: new Set(['gateway']), trustLoopback: false, ...options };
    const client = await rig.clientOf(
      {
        getStock(_request, context) {
          const { subject, scopes } = callerOf(context);
          const who = { subject, scopes: scopes === 'all' ? 'all' : [...scopes] };
          return { stocks: [{ title: JSON.stringify(who) }] };
        },
      },
      { interceptors: [requestLog(pino({}, stream)), connectionSays, identify(believed)] },
    );
    const { stocks } = await client.getStock({}, { headers });
    return JSON.parse(stocks[0]!.title);
  }
  /** Is refused, with words that tell nothing; the log tells why. */
  async function refused(why: RegExp, ...args: Parameters<typeof ask>): Promise<void> {
    const error = await failsWith(ask(...args), 'UNAUTHENTICATED');
    assert.equal(error.rawMessage, 'the caller did not show who it is, or is not believed');
    assert.deepEqual(errorInfoOf(error)!.metadata, { retry: 'never' });
    assert.equal(lines.length, 1);
    assert.match(String(lines[0]!['refused']), why);
  }
  const bearer = async (...args: Parameters<Issuer['token']>) => ({
    authorization: `Bearer ${await issuer.token(...args)}`,
  });

  describe('by a token', () => {
    it('takes the user and the scopes that it names, from whatever peer', async () => {
      for (const peer of [REMOTE, LOCAL, GATEWAY, STRANGER]) {
        const who = await ask(peer, await bearer({ scope: 'stock.read' }), { trustLoopback: true });
        assert.deepEqual(who, { subject: '42', scopes: ['stock.read'] });
      }
    });

    it('takes the scheme in any case', async () => {
      const authorization = `bearer ${await issuer.token()}`;
      assert.deepEqual(await ask(REMOTE, { authorization }), { subject: '42', scopes: [] });
    });

    for (const [what, peer] of Object.entries({ a: REMOTE, 'a loopback': LOCAL, 'a trusted': GATEWAY })) {
      for (const user of ['7', '42', '']) {
        it(`refuses x-user-id ${JSON.stringify(user)} beside one, from ${what} peer`, async () =>
          refused(
            /x-user-id beside authorization/,
            peer,
            { ...(await bearer()), 'x-user-id': user },
            { trustLoopback: true },
          ));
      }
    }

    it('lets no trust of the peer make up for a bad one', async () => {
      for (const peer of [LOCAL, GATEWAY]) {
        lines = [];
        await refused(/ERR_JWT_EXPIRED/, peer, await bearer({ exp: seconds(-60) }), { trustLoopback: true });
      }
    });

    it('refuses one where none is configured, also from a trusted peer', async () => {
      for (const peer of [REMOTE, LOCAL, GATEWAY]) {
        lines = [];
        await refused(/no JWT is configured/, peer, await bearer(), { tokens: undefined, trustLoopback: true });
      }
    });

    const odd: [string, (token: string) => [string, string][]][] = [
      ['another scheme', (token) => [['authorization', `Basic ${token}`]]],
      ['no scheme', (token) => [['authorization', token]]],
      ['nothing but the scheme', () => [['authorization', 'Bearer ']]],
      ['nothing', () => [['authorization', '']]],
      ['two in one header', (token) => [['authorization', `Bearer ${token}, Bearer ${token}`]]],
      [
        'two headers',
        (token) => [
          ['authorization', 'Bearer x'],
          ['authorization', `Bearer ${token}`],
        ],
      ],
    ];
    for (const [what, headers] of odd) {
      it(`refuses ${what} as authorization`, async () =>
        refused(/not one bearer token/, LOCAL, headers(await issuer.token()), { trustLoopback: true }));
    }

    it('writes nothing of it to the log', async () => {
      const token = await issuer.token({ aud: 'other' });
      await refused(/"aud"/, REMOTE, { authorization: `Bearer ${token}` });
      for (const part of token.split('.')) assert.ok(!JSON.stringify(lines).includes(part));
    });

    it('gives no verdict on one while the keys cannot be had', async () => {
      const away = keysAtUrl('http://127.0.0.1:1/', silentLogger);
      const tokens = new Tokens(away, rules);
      await failsWith(ask(REMOTE, await bearer(), { tokens }), 'SERVICE_UNAVAILABLE');
      away.close();
    });
  });

  describe('by the peer', () => {
    it('takes the user that a certificate of a trusted name names, for everything', async () => {
      assert.deepEqual(await ask(GATEWAY, { 'x-user-id': '7' }), { subject: '7', scopes: 'all' });
      assert.equal(lines[0]!['client'], 'gateway');
      assert.deepEqual(await ask(GATEWAY, {}), { scopes: 'all' });
    });

    it('takes the user that this machine names where it is trusted, and only there', async () => {
      const headers = { 'x-user-id': '7' };
      assert.deepEqual(await ask(LOCAL, headers, { trustLoopback: true }), { subject: '7', scopes: 'all' });
      lines = [];
      await refused(/x-user-id from a peer that is not trusted/, LOCAL, headers);
    });

    for (const [what, peer] of Object.entries({ 'no certificate': REMOTE, 'one of another name': STRANGER })) {
      it(`refuses who shows ${what}, with x-user-id or without`, async () => {
        await refused(/x-user-id from a peer/, peer, { 'x-user-id': '7' }, { trustLoopback: true });
        lines = [];
        await refused(/no token, and the peer is not trusted/, peer, {}, { trustLoopback: true });
      });
    }
  });

  it('is what a handler needs: nobody found out, nobody served', () => {
    const values = new Map();
    assert.throws(() => callerOf({ values: values as never }), /is not known/);
  });
});
