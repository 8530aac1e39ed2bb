import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { get, type RequestOptions } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { type Interceptor, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { type Peer, peerKey } from '../../../runtime/rpc/peer.ts';
import { pem } from '../../support/certificates.ts';
import { HttpRig } from './http-rig.ts';

const server = { cert: pem('server.pem'), key: pem('server.key') };
const renewed = { cert: pem('renewed-server.pem'), key: pem('renewed-server.key') };
const ca = pem('ca.pem');

describe('an HTTP door with TLS', () => {
  const rig = new HttpRig();
  afterEach(() => rig.close());

  const clientWith = (url: string, httpVersion: '1.1' | '2', nodeOptions: object) =>
    createClient(StockService, createConnectTransport({ baseUrl: url, httpVersion, nodeOptions }));

  for (const httpVersion of ['1.1', '2'] as const) {
    it(`serves HTTP/${httpVersion} to whoever names it by ALPN`, async () => {
      const { url } = await rig.serve({ getStock: () => ({ stocks: [{ title: 'tea' }] }) }, {}, undefined, server);
      const { stocks } = await clientWith(url, httpVersion, { ca }).getStock({});
      assert.equal(stocks[0]?.title, 'tea');
    });

    it(`knows a client by its certificate when it is signed by the right one: HTTP/${httpVersion}`, async () => {
      const seen: Peer[] = [];
      const look: Interceptor = (next) => (request) => (seen.push(request.contextValues.get(peerKey)), next(request));
      const options = { interceptors: [look], clientNames: new Set(['spiffe://shop/bff']) };
      const asking = { ...server, ca, requestCert: true, rejectUnauthorized: false };
      const { url } = await rig.serve({ getStock: () => ({}) }, options, undefined, asking);
      for (const name of ['gateway', 'bff', 'forged', undefined]) {
        const own = name && { cert: pem(`${name}.pem`), key: pem(`${name}.key`) };
        const client = clientWith(url, httpVersion, { ca, ...(own || {}), agent: undefined });
        await client.getStock({});
        await client.getStock({});
      }
      const names = ['gateway.internal', 'spiffe://shop/bff', undefined, undefined];
      const peers = names.flatMap((clientName) => [1, 2].map(() => ({ loopback: true, clientName })));
      assert.deepEqual(seen, peers);
    });
  }

  it('serves HTTP/1.1 to whoever names nothing', async () => {
    const { url } = await rig.serve({}, {}, undefined, server);
    assert.equal(await statusOf(`${url}/healthz`, { ca, ALPNProtocols: [] }), 200);
  });

  it('shows new connections a certificate that was renewed, and goes on with the old ones', async () => {
    const { door, url, address } = await rig.serve({}, {}, undefined, server);
    const old = connectHttp2(url, { ca });
    await once(old, 'connect');
    assert.equal(subjectOf(old.socket as TLSSocket), 'server');
    door.renewCertificate(renewed);
    const [host, port] = address.split(':');
    const fresh = connectTls({ host, port: Number(port), ca, ALPNProtocols: ['h2'] });
    await once(fresh, 'secureConnect');
    assert.equal(subjectOf(fresh), 'renewed-server');
    fresh.destroy();
    const [headers] = (await once(old.request({ ':path': '/healthz' }).resume(), 'response')) as [
      { ':status': number },
    ];
    assert.equal(headers[':status'], 200);
    old.close();
  });

  it('ends a connection that does not finish its handshake, and does not wait for it when it stops', async () => {
    const { door, address } = await rig.serve({}, { limits: { headerMs: 200, requestMs: 500 } }, undefined, server);
    const [host, port] = address.split(':');
    const first = connectTcp(Number(port), host);
    await once(first.resume(), 'close');
    const second = connectTcp(Number(port), host);
    await once(second, 'connect');
    // It is accepted when the door has answered one that came later.
    await statusOf(`https://${address}/healthz`, { ca });
    const startMs = performance.now();
    await door.stop(60_000);
    assert.ok(performance.now() - startMs < 5000);
    second.destroy();
  });
});

function subjectOf(socket: TLSSocket): unknown {
  return socket.getPeerCertificate().subject.CN;
}

async function statusOf(
  url: string,
  options: RequestOptions & { ALPNProtocols?: string[] },
): Promise<number | undefined> {
  const [response] = (await once(get(url, options), 'response')) as [{ statusCode?: number; resume(): void }];
  response.resume();
  return response.statusCode;
}
