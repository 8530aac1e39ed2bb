import assert from 'node:assert/strict';
import { HttpRig, pathOf, post } from './http-rig.ts';

const shop = 'https://shop.example';
const corsOrigins = [shop, 'http://localhost:3000'];

describe('an HTTP door and the pages of a browser', () => {
  const rig = new HttpRig();
  afterEach(() => rig.close());

  const impl = { getStock: () => ({}), restore: () => ({}) };
  const preflight = (url: string, origin: string) =>
    fetch(url + pathOf('Restore'), {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,connect-protocol-version,x-user-id',
      },
    });
  const words = (text: string | null) => (text ?? '').toLowerCase().split(', ');

  for (const origin of corsOrigins) {
    it(`lets a page of ${origin} call, and keep for two hours that it may`, async () => {
      const { url } = await rig.serve(impl, { corsOrigins });
      const { status, headers } = await preflight(url, origin);
      assert.equal(status, 204);
      assert.equal(headers.get('access-control-allow-origin'), origin);
      assert.equal(headers.get('access-control-max-age'), '7200');
      assert.deepEqual(words(headers.get('access-control-allow-methods')), ['post', 'get']);
      const allowed = words(headers.get('access-control-allow-headers'));
      for (const name of [
        'content-type',
        'connect-protocol-version',
        'connect-timeout-ms',
        'grpc-timeout',
        'x-grpc-web',
        'x-user-agent',
        'authorization',
        'x-user-id',
        'grpc-previous-rpc-attempts',
      ]) {
        assert.ok(allowed.includes(name), name);
      }
    });
  }

  it('lets such a page read what Connect and gRPC-Web need of an answer, good or bad', async () => {
    const { url } = await rig.serve(impl, { corsOrigins });
    for (const body of ['{}', '{']) {
      const { headers } = await post(url, 'Restore', body, { origin: shop });
      assert.equal(headers.get('access-control-allow-origin'), shop);
      assert.equal(headers.get('access-control-allow-credentials'), null);
      const exposed = words(headers.get('access-control-expose-headers'));
      for (const name of ['grpc-status', 'grpc-message', 'grpc-status-details-bin', 'grpc-retry-pushback-ms']) {
        assert.ok(exposed.includes(name), name);
      }
    }
  });

  const others = [
    'https://evil.example',
    'null',
    'https://shop.example.evil.example',
    'http://shop.example',
    `${shop}:8443`,
    `${shop}/`,
  ];
  for (const origin of others) {
    it(`tells a browser nothing that would let ${origin} call or read`, async () => {
      const { url } = await rig.serve(impl, { corsOrigins });
      const answers = [
        await preflight(url, origin),
        await post(url, 'Restore', '{}', { origin }),
        await fetch(`${url}${pathOf('GetStock')}?encoding=json&message={}`, { headers: { origin } }),
      ];
      for (const { headers } of answers) {
        assert.deepEqual(
          [...headers.keys()].filter((name) => name.startsWith('access-control-')),
          [],
        );
      }
    });
  }

  it('lets no page call unless it is told which', async () => {
    const { url } = await rig.serve(impl);
    const { headers } = await preflight(url, shop);
    assert.equal(headers.get('access-control-allow-origin'), null);
  });
});

describe('the health of an HTTP door', () => {
  const rig = new HttpRig();
  afterEach(() => rig.close());

  it('is that the process lives, and whether it should be called', async () => {
    let missing = ['the database does not answer', 'no worker id is held'];
    const { url } = await rig.serve({}, { notReady: () => missing });
    const ask = async (path: string) => {
      const response = await fetch(url + path);
      assert.equal(response.headers.get('content-type'), 'application/json');
      return [response.status, await response.json()];
    };
    assert.deepEqual(await ask('/healthz'), [200, { alive: true }]);
    assert.deepEqual(await ask('/readyz'), [503, { ready: false, missing }]);
    missing = [];
    assert.deepEqual(await ask('/readyz?verbose'), [200, { ready: true, missing: [] }]);
    assert.equal((await fetch(`${url}/healthz`, { method: 'HEAD' })).status, 200);
  });
});
