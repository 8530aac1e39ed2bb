import assert from 'node:assert/strict';
import { z } from 'zod';
import { ConfigError, listenAddress, loadConfig, optionalListenAddress } from '../../../../runtime/lifecycle/config.ts';
import { checkSettings } from '../../../../runtime/rpc/identity/check-settings.ts';
import {
  algorithmsOf,
  type IdentitySettings,
  identityVariables,
  minSecretBytes,
  trustsLoopback,
} from '../../../../runtime/rpc/identity/settings.ts';

const schema = z.object({
  LISTEN_ADDRESS: listenAddress('127.0.0.1:50051'),
  HTTP_LISTEN_ADDRESS: optionalListenAddress,
  ...identityVariables,
});
const load = (env: NodeJS.ProcessEnv): IdentitySettings => loadConfig(schema, env, checkSettings);

/** The variables that a configuration is refused for, with the messages. */
function refusals(env: NodeJS.ProcessEnv): Record<string, string> {
  try {
    load(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    const lines = error.message.split('\n').slice(1);
    return Object.fromEntries(lines.map((line) => /^ {2}(\w+): (.*)$/.exec(line)!.slice(1) as [string, string]));
  }
  return {};
}
const refused = (env: NodeJS.ProcessEnv) => Object.keys(refusals(env));

const TLS = { TLS_CERT_FILE: 'cert', TLS_KEY_FILE: 'key' };
const MUTUAL = { ...TLS, TLS_CLIENT_CA_FILE: 'ca', TLS_CLIENT_NAMES: 'gateway.internal, spiffe://shop/bff' };
const CLAIMS = { JWT_ISSUER: 'https://id.example', JWT_AUDIENCE: 'ordersystem' };
const JWT = { ...CLAIMS, JWT_JWKS_URL: 'https://id.example/jwks' };
const SECRET = { ...CLAIMS, JWT_SECRET: 'a secret of two and thirty bytes' };
const PROXY = { TLS_TERMINATED: 'on' };

describe('checkSettings', () => {
  describe('lets a service listen', () => {
    const everywhere = { LISTEN_ADDRESS: '0.0.0.0:50051', HTTP_LISTEN_ADDRESS: '[::]:8080' };
    const both = Object.keys(everywhere);

    const anywhere = {
      'JWT over TLS': { ...JWT, ...TLS },
      'JWT behind a proxy': { ...JWT, ...PROXY },
      'mutual TLS': MUTUAL,
    };
    for (const [what, env] of Object.entries(anywhere)) {
      it(`anywhere with ${what}`, () => assert.deepEqual(refused({ ...env, ...everywhere }), []));
    }

    const here = { nothing: {}, 'TLS alone': TLS, 'JWT in clear': JWT, 'a secret in clear': SECRET };
    for (const [what, env] of Object.entries(here)) {
      it(`on this machine alone with ${what}`, () => {
        assert.deepEqual(refused({ ...env, LISTEN_ADDRESS: 'localhost:1', HTTP_LISTEN_ADDRESS: '[::1]:2' }), []);
        assert.deepEqual(refused({ ...env, ...everywhere }), both);
        for (const address of ['10.0.0.1:50051', 'localhost.evil.com:1', '127.0.0.1.evil.com:1', 'order-svc:50051']) {
          assert.deepEqual(refused({ ...env, LISTEN_ADDRESS: address }), ['LISTEN_ADDRESS']);
        }
      });
    }

    it('and says what it takes to listen elsewhere', () => {
      const message = refusals(everywhere)['LISTEN_ADDRESS']!;
      for (const variable of [
        'JWT_JWKS_URL',
        'JWT_SECRET_FILE',
        'TLS_CLIENT_CA_FILE',
        'TLS_CERT_FILE',
        'TLS_TERMINATED=on',
      ])
        assert.ok(message.includes(variable), message);
      assert.doesNotMatch(message, /0\.0\.0\.0/);
    });
  });

  const incomplete: [NodeJS.ProcessEnv, string[]][] = [
    [{ TLS_CERT_FILE: 'cert' }, ['TLS_KEY_FILE']],
    [{ TLS_KEY_FILE: 'key' }, ['TLS_CERT_FILE']],
    [{ ...MUTUAL, TLS_CLIENT_NAMES: '' }, ['TLS_CLIENT_NAMES']],
    [{ ...MUTUAL, TLS_CLIENT_CA_FILE: '' }, ['TLS_CLIENT_CA_FILE']],
    [{ TLS_CLIENT_CA_FILE: 'ca', TLS_CLIENT_NAMES: 'gateway' }, ['TLS_CERT_FILE']],
    [{ ...MUTUAL, TLS_CLIENT_NAMES: 'gateway,,bff' }, ['TLS_CLIENT_NAMES']],
    [{ ...JWT, JWT_ISSUER: '' }, ['JWT_ISSUER']],
    [{ ...JWT, JWT_AUDIENCE: '' }, ['JWT_AUDIENCE']],
    [CLAIMS, ['JWT_ISSUER', 'JWT_AUDIENCE']],
    [{ JWT_ALGORITHMS: 'ES256' }, ['JWT_ALGORITHMS']],
    [{ ...JWT, JWT_SECRET: 'a secret of two and thirty bytes' }, ['JWT_SECRET']],
    [{ ...JWT, JWT_JWKS_FILE: 'jwks' }, ['JWT_JWKS_FILE']],
    [{ ...CLAIMS, JWT_SECRET: 'a secret of one and thirty byte' }, ['JWT_SECRET']],
    [{ ...SECRET, JWT_ALGORITHMS: 'HS256,HS512' }, ['JWT_SECRET']],
    [{ ...PROXY }, ['TLS_TERMINATED']],
    [{ ...PROXY, ...JWT, TRUST_LOOPBACK: 'on' }, ['TRUST_LOOPBACK']],
    [{ TRUST_LOOPBACK: 'off' }, ['TRUST_LOOPBACK']],
    [{ TRUST_LOOPBACK: 'true' }, ['TRUST_LOOPBACK']],
    [{ TLS_TERMINATED: '1' }, ['TLS_TERMINATED']],
  ];
  for (const [env, variables] of incomplete) {
    it(`refuses ${variables.join(' and ')} with ${Object.keys(env).join(', ')}`, () =>
      assert.deepEqual(refused(env), variables));
  }

  for (const algorithms of ['none', 'HS256', 'ES256,none', 'RS256,HS256', 'es256', 'RSA-OAEP']) {
    it(`refuses the algorithms ${algorithms} with public keys`, () =>
      assert.deepEqual(refused({ ...JWT, JWT_ALGORITHMS: algorithms }), ['JWT_ALGORITHMS']));
  }
  for (const algorithms of ['none', 'RS256', 'HS256,ES256']) {
    it(`refuses the algorithms ${algorithms} with a secret`, () =>
      assert.deepEqual(refused({ ...SECRET, JWT_ALGORITHMS: algorithms }), ['JWT_ALGORITHMS']));
  }

  it('takes keys from https, and from http on this machine alone', () => {
    const at = (url: string) => refused({ ...JWT, JWT_JWKS_URL: url });
    for (const url of ['https://id.example/jwks', 'http://127.0.0.1:8000/', 'http://localhost/', 'http://[::1]:1/'])
      assert.deepEqual(at(url), [], url);
    for (const url of ['http://id.example/jwks', 'http://127.0.0.1.evil.com/', 'file:///etc/passwd', 'id.example'])
      assert.deepEqual(at(url), ['JWT_JWKS_URL'], url);
  });

  it('names everything that is wrong in one message, and no value', () => {
    const env = { LISTEN_ADDRESS: 'example:1', TLS_KEY_FILE: 'secret', TRUST_LOOPBACK: 'secret', JWT_SECRET: 'secret' };
    const wrong = ['TRUST_LOOPBACK', 'TLS_CERT_FILE', 'JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_SECRET', 'LISTEN_ADDRESS'];
    assert.deepEqual(refused(env), wrong);
    assert.doesNotMatch(Object.values(refusals(env)).join(), /secret|example/);
  });
});

describe('settings of identity', () => {
  it('trust this machine only where there is nothing else to know callers by, unless they say so', () => {
    const trusted = (env: NodeJS.ProcessEnv) => trustsLoopback(load(env));
    assert.deepEqual([trusted({}), trusted(TLS)], [true, true]);
    assert.deepEqual([JWT, SECRET, MUTUAL, { ...JWT, ...PROXY }].map(trusted), [false, false, false, false]);
    assert.deepEqual(
      [JWT, MUTUAL].map((env) => trusted({ ...env, TRUST_LOOPBACK: 'on' })),
      [true, true],
    );
  });

  it('name the algorithms, or the kind of key does', () => {
    assert.deepEqual(algorithmsOf(load(JWT)), ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519']);
    assert.deepEqual(algorithmsOf(load(SECRET)), ['HS256']);
    assert.deepEqual(algorithmsOf(load({ ...JWT, JWT_ALGORITHMS: 'ES384, RS512' })), ['ES384', 'RS512']);
  });

  it('want a secret as long as the longest hash', () => {
    assert.equal(minSecretBytes(load(SECRET)), 32);
    const longer = { ...CLAIMS, JWT_SECRET_FILE: 'secret', JWT_ALGORITHMS: 'HS256,HS384' };
    assert.equal(minSecretBytes(load(longer)), 48);
  });
});
