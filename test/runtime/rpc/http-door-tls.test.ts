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
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { type DoorTls, watchTlsFiles } from '../../../runtime/rpc/tls.ts';
import { pem, pemPath, useFolder } from '../../support/certificates.ts';
import { until } from '../../support/expect.ts';
import { HttpRig } from './http-rig.ts';

const ca = pem('ca.pem');

describe('an HTTP door with TLS', () => {
  const rig = new HttpRig();
  const folder = useFolder();
  let tls: DoorTls;
  let mutual: DoorTls;

  const named = (path: string) => ({ variable: 'FILE', path });
  const watched = (extra: object = {}) => {
    const files = { cert: named(folder.path('tls.crt')), key: named(folder.path('tls.key')), ...extra };
    return { files: watchTlsFiles(files, silentLogger, 5), clientNames: new Set(['spiffe://shop/bff']) };
  };
  const putCertificate = (name: string) => {
    folder.put('tls.key', pemPath(`${name}.key`));
    folder.put('tls.crt', pemPath(`${name}.pem`));
  };

  beforeEach(() => {
    putCertificate('server');
    tls = watched();
    mutual = watched({ ca: named(pemPath('ca.pem')) });
  });
  afterEach(async () => {
    await rig.close();
    for (const { files } of [tls, mutual]) files.close();
  });

  const clientWith = (url: string, httpVersion: '1.1' | '2', nodeOptions: object) =>
    createClient(StockService, createConnectTransport({ baseUrl: url, httpVersion, nodeOptions }));

  for (const httpVersion of ['1.1', '2'] as const) {
    it(`serves HTTP/${httpVersion} to whoever names it by ALPN`, async () => {
      const { url } = await rig.serve({ getStock: () => ({ stocks: [{ title: 'tea' }] }) }, { tls });
      const { stocks } = await clientWith(url, httpVersion, { ca }).getStock({});
      assert.equal(stocks[0]?.title, 'tea');
    });

    it(`knows a client by its certificate when it is signed by the right one: HTTP/${httpVersion}`, async () => {
      const seen: Peer[] = [];
      const look: Interceptor = (next) => (request) => (seen.push(request.contextValues.get(peerKey)), next(request));
      const { url } = await rig.serve({ getStock: () => ({}) }, { interceptors: [look], tls: mutual });
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
    const { url } = await rig.serve({}, { tls });
    assert.equal(await statusOf(`${url}/healthz`, { ca, ALPNProtocols: [] }), 200);
  });

  it('shows new connections a certificate that was renewed, and goes on with the old ones', async () => {
    const { url, address } = await rig.serve({}, { tls });
    const old = connectHttp2(url, { ca });
    await once(old, 'connect');
    assert.equal(subjectOf(old.socket as TLSSocket), 'server');
    putCertificate('renewed-server');
    const [host, port] = address.split(':');
    await until('a new connection gets the new certificate', async () => {
      const fresh = connectTls({ host, port: Number(port), ca, ALPNProtocols: ['h2'] });
      await once(fresh, 'secureConnect');
      const subject = subjectOf(fresh);
      fresh.destroy();
      return subject === 'renewed-server';
    });
    const [headers] = (await once(old.request({ ':path': '/healthz' }).resume(), 'response')) as [
      { ':status': number },
    ];
    assert.equal(headers[':status'], 200);
    old.close();
  });

  it('ends a connection that does not finish its handshake, and does not wait for it when it stops', async () => {
    const { door, address } = await rig.serve({}, { tls, limits: { headerMs: 200, requestMs: 500 } });
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
