import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { generateKeyPair, exportJWK, type JWK } from 'jose';
import { pino } from 'pino';
import { RetryInfoSchema } from '../../../../gen/google/rpc/error_details_pb.ts';
import { ConfigError } from '../../../../runtime/lifecycle/config.ts';
import { silentLogger } from '../../../../runtime/lifecycle/logger.ts';
import {
  keysAtUrl,
  keysInFile,
  secretInFile,
  type TokenKeys,
  type UrlKeysOptions,
} from '../../../../runtime/rpc/identity/keys.ts';
import { Tokens } from '../../../../runtime/rpc/identity/tokens.ts';
import { useFolder } from '../../../support/certificates.ts';
import { failsWith, until } from '../../../support/expect.ts';
import { AUDIENCE, Issuer, ISSUER, signed } from '../../../support/issuer.ts';

const named = (path: string) => ({ variable: 'KEYS', path });

describe('keys of tokens', () => {
  const opened: TokenKeys[] = [];
  let issuer: Issuer;
  let next: Issuer;
  before(async () => ([issuer, next] = await Promise.all([Issuer.open(), Issuer.open('RS256')])));
  afterEach(() => opened.splice(0).forEach((keys) => keys.close()));

  function tokensBy(keys: TokenKeys, algorithms = ['ES256', 'RS256']): Tokens {
    opened.push(keys);
    return new Tokens(keys, { issuer: ISSUER, audience: AUDIENCE, algorithms });
  }
  const believes = async (tokens: Tokens, token: string) => typeof (await tokens.verify(token)) === 'object';

  describe('at a URL', () => {
    let server: Server;
    let fetched: number;
    let answer: { status: number; body: string; headers?: Record<string, string> };
    const publish = (...jwks: JWK[]) => (answer = { status: 200, body: JSON.stringify({ keys: jwks }) });

    beforeEach(async () => {
      fetched = 0;
      publish(issuer.jwk);
      server = createServer((_request, response) => {
        fetched++;
        response.writeHead(answer.status, answer.headers).end(answer.body);
      });
      await listen();
    });
    afterEach(() => close());

    const listen = (port = 0) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    const close = () => new Promise<unknown>((resolve) => (server.close(resolve), server.closeAllConnections()));
    const port = () => (server.address() as AddressInfo).port;
    const open = (options?: UrlKeysOptions) =>
      tokensBy(keysAtUrl(`http://127.0.0.1:${port()}/jwks`, silentLogger, options));

    it('are fetched once, before the first token comes', async () => {
      const tokens = open();
      await until('they are fetched', () => fetched === 1);
      assert.ok(await believes(tokens, await issuer.token()));
      assert.ok(await believes(tokens, await issuer.token({ jti: 'another' })));
      assert.equal(fetched, 1);
    });

    it('are fetched again for a token with a new key, but not for each of many', async () => {
      const tokens = open({ cooldownMs: 1 });
      await until('they are fetched', () => fetched === 1);
      publish(issuer.jwk, next.jwk);
      assert.ok(await believes(tokens, await next.token()));
      assert.equal(fetched, 2);

      const patient = open({ cooldownMs: 60_000 });
      assert.ok(await believes(patient, await next.token()));
      fetched = 0;
      const unknown = await Issuer.open();
      for (let i = 0; i < 50; i++) assert.ok(!(await believes(patient, await unknown.token({ jti: String(i) }))));
      assert.equal(fetched, 0);
    });

    it('that are taken away count no more once they are fetched again', async () => {
      const tokens = open({ refreshMs: 5 });
      const token = await issuer.token();
      assert.ok(await believes(tokens, token));
      publish(next.jwk);
      await until('the old key is gone', async () => !(await believes(tokens, token)));
    });

    const troubles: Record<string, typeof answer> = {
      'that answers with an error': { status: 503, body: '' },
      'that points somewhere else': { status: 302, body: '', headers: { location: '/' } },
      'that answers with something else': { status: 200, body: '<html>' },
      'that answers with no keys': { status: 200, body: '{}' },
    };
    for (const [what, trouble] of Object.entries(troubles)) {
      it(`${what}: SERVICE_UNAVAILABLE with RetryInfo, no verdict on the token`, async () => {
        answer = trouble;
        const error = await failsWith(open().verify(await issuer.token()), 'SERVICE_UNAVAILABLE');
        assert.equal(error.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds, 1n);
        assert.doesNotMatch(error.message, /127\.0\.0\.1|jwks/);
      });
    }

    it('that cannot be reached are not asked for by every call, and are found again', async () => {
      answer = { status: 500, body: '' };
      const tokens = open({ pauseMs: 1000 });
      const token = await issuer.token();
      const calls = Array.from({ length: 50 }, () => failsWith(tokens.verify(token), 'SERVICE_UNAVAILABLE'));
      await Promise.all(calls);
      for (let i = 0; i < 10; i++) await failsWith(tokens.verify(token), 'SERVICE_UNAVAILABLE');
      assert.equal(fetched, 1);
      publish(issuer.jwk);
      await until('they are found again', () => believes(tokens, token).catch(() => false));
      assert.equal(fetched, 2);
    });

    it('that cannot be reached any more stay in force for a while, also beside a token with an unknown key', async () => {
      const tokens = open({ refreshMs: 5, cooldownMs: 0, pauseMs: 1 });
      assert.ok(await believes(tokens, await issuer.token()));
      const at = port();
      await close();
      // It may be one that we cannot learn of now.
      await failsWith(tokens.verify(await next.token()), 'SERVICE_UNAVAILABLE');
      assert.ok(await believes(tokens, await issuer.token({ jti: 'new' })));
      await listen(at);
    });

    it('that cannot be reached any more are out of force in the end', async () => {
      const tokens = open({ maxAgeMs: 1, pauseMs: 1 });
      const at = port();
      await until('they are fetched', () => fetched === 1);
      await close();
      await until('they are too old', async () =>
        tokens.verify(await issuer.token({ jti: String(Math.random()) })).then(
          () => false,
          () => true,
        ),
      );
      await listen(at);
    });
  });

  describe('in a file', () => {
    const folder = useFolder();
    const write = (name: string, text: string) => {
      writeFileSync(folder.path('draft'), text);
      return folder.put(name, folder.path('draft'));
    };
    const jwks = (...keys: JWK[]) => write('jwks', JSON.stringify({ keys }));

    it('are read again when it changes, while calls go on, and what was signed with the old ones counts no more', async () => {
      const tokens = tokensBy(keysInFile(named(jwks(issuer.jwk)), silentLogger, 5));
      const [old, renewed] = await Promise.all([issuer.token(), next.token()]);
      assert.deepEqual([await believes(tokens, old), await believes(tokens, renewed)], [true, false]);
      jwks(issuer.jwk, next.jwk);
      let refused = 0;
      await until('the new key counts', async () => {
        if (!(await believes(tokens, old))) refused++;
        return believes(tokens, renewed);
      });
      assert.equal(refused, 0, 'the old key counts all the while');
      jwks(next.jwk);
      await until('the old key is gone', async () => !(await believes(tokens, old)));
      assert.ok(await believes(tokens, renewed));
    });

    it('stay when it becomes no good', async () => {
      let complaints = 0;
      const logger = pino({ level: 'error' }, { write: () => void complaints++ });
      const tokens = tokensBy(keysInFile(named(jwks(issuer.jwk)), logger, 5));
      write('jwks', '{"keys": [');
      await until('it is logged', () => complaints > 0);
      assert.ok(await believes(tokens, await issuer.token()));
      jwks(next.jwk);
      await until('the next good one counts', async () => believes(tokens, await next.token()));
    });

    const broken: [string, () => Promise<string> | string, RegExp][] = [
      ['JSON cut off', () => '{"keys": [', /KEYS: .*JSON/],
      ['no list of keys', () => '{}', /KEYS: JSON Web Key Set malformed/],
      ['no key', () => '{"keys": []}', /KEYS: there is no key in it/],
      [
        'a private key',
        async () => JSON.stringify({ keys: [await privateJwk()] }),
        /KEYS: there is a private key in it/,
      ],
      ['a secret', () => '{"keys": [{"kty": "oct", "k": "AAAA"}]}', /KEYS: there is a private key in it/],
    ];
    for (const [what, text, message] of broken) {
      it(`are refused at the start: ${what}`, async () => {
        const path = write('broken', await text());
        assert.throws(
          () => keysInFile(named(path), silentLogger),
          (error: Error) => error instanceof ConfigError && message.test(error.message),
        );
      });
    }

    it('can be a shared secret, read again when it changes', async () => {
      const [first, second] = ['1', '2'].map((digit) => digit.repeat(32));
      const path = write('secret', `${first}\n`);
      const tokens = tokensBy(secretInFile(named(path), 32, silentLogger, 5), ['HS256']);
      const by = (secret: string) => signed({}, { alg: 'HS256' }, Buffer.from(secret));
      assert.ok(await believes(tokens, await by(first!)));
      write('secret', second!);
      await until('the new one counts', async () => believes(tokens, await by(second!)));
      assert.ok(!(await believes(tokens, await by(first!))));
    });

    it('can be no secret that is too short, and the error does not show it', () => {
      const path = write('secret', `${'x'.repeat(31)}\n`);
      const message = 'wrong configuration:\n  KEYS: must hold at least 32 bytes';
      assert.throws(() => secretInFile(named(path), 32, silentLogger), new ConfigError(message));
    });
  });
});

async function privateJwk(): Promise<JWK> {
  return exportJWK((await generateKeyPair('ES256', { extractable: true })).privateKey);
}
