import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mock } from 'node:test';
import { connect as connectTls, type ConnectionOptions, createServer, TLSSocket } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { Code } from '@connectrpc/connect';
import { ConfigError } from '../../../runtime/lifecycle/config.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { channelCredentials } from '../../../runtime/rpc/grpc-credentials.ts';
import { type Peer, peerKey } from '../../../runtime/rpc/peer.ts';
import { type DoorTls, doorTlsOptions, type TlsFiles, watchTlsFiles } from '../../../runtime/rpc/tls.ts';
import { callerCredentials, pem, pemPath, useFolder } from '../../support/certificates.ts';
import { until } from '../../support/expect.ts';
import { failureOf, Rig, type StockImpl } from './rig.ts';

const CLIENT_NAMES = new Set(['gateway.internal', 'spiffe://shop/bff', 'order-svc']);

describe('TLS', () => {
  const rig = new Rig();
  const folder = useFolder();
  const watched: TlsFiles[] = [];
  let peers: Peer[];
  beforeEach(() => (peers = []));
  afterEach(async () => {
    await rig.close();
    for (const files of watched.splice(0)) files.close();
  });

  /** Watches the files of a door; `mutual`: with the authority of its callers. */
  function watch(cert: string, key: string, ca?: string): TlsFiles {
    const named = (variable: string, path: string) => ({ variable, path });
    const files = watchTlsFiles(
      { cert: named('CERT', cert), key: named('KEY', key), ca: ca === undefined ? undefined : named('CA', ca) },
      silentLogger,
      5,
    );
    watched.push(files);
    return files;
  }
  const mutual = () => watch(pemPath('server.pem'), pemPath('server.key'), pemPath('ca.pem'));

  const impl: StockImpl = { restore: (_request, { values }) => (peers.push(values.get(peerKey)), {}) };
  async function serve(files: TlsFiles, served = impl): Promise<string> {
    const tls: DoorTls = { files, clientNames: CLIENT_NAMES };
    const { address } = await rig.serve(served, { tls });
    return address.replace('127.0.0.1', 'localhost');
  }

  describe('at the gRPC door', () => {
    it('serves those who know its authority, and nobody in clear or who knows another', async () => {
      const address = await serve(watch(pemPath('server.pem'), pemPath('server.key')));
      await rig.client(address, { credentials: callerCredentials() }).restore({});
      assert.deepEqual(peers, [{ loopback: true, clientName: undefined }]);
      const stranger = { ca: { variable: 'CA', path: pemPath('other-ca.pem') } };
      const other = watchTlsFiles(stranger, silentLogger);
      watched.push(other);
      for (const credentials of [undefined, channelCredentials(other)]) {
        const error = await failureOf(rig.client(address, { credentials }).restore({}, { timeoutMs: 500 }));
        assert.ok([Code.Unavailable, Code.DeadlineExceeded].includes(error.code), String(error));
      }
      assert.equal(peers.length, 1);
    });

    const callers: Record<string, string | undefined> = {
      gateway: 'gateway.internal',
      bff: 'spiffe://shop/bff',
      'order-svc': 'order-svc',
      stranger: 'stranger.internal',
      'named-by-subject': 'stranger.internal',
      forged: undefined,
      'not-a-client': undefined,
    };
    for (const [certificate, name] of Object.entries(callers)) {
      it(`takes ${certificate}.pem for ${name ?? 'nobody'}`, async () => {
        const credentials = callerCredentials(certificate);
        await rig.client(await serve(mutual()), { credentials }).restore({});
        assert.deepEqual(peers, [{ loopback: true, clientName: name }]);
      });
    }

    it('takes a caller without a certificate for nobody', async () => {
      await rig.client(await serve(mutual()), { credentials: callerCredentials() }).restore({});
      assert.deepEqual(peers, [{ loopback: true, clientName: undefined }]);
    });

    it('decodes the certificate of a connection once, whatever it carries', async () => {
      const client = rig.client(await serve(mutual()), { credentials: callerCredentials('gateway') });
      await client.restore({});
      const decoded = mock.method(TLSSocket.prototype, 'getPeerCertificate');
      for (let i = 0; i < 4; i++) await client.restore({});
      assert.equal(decoded.mock.callCount(), 0);
      decoded.mock.restore();
      assert.deepEqual(
        peers.map((peer) => peer.clientName),
        Array(5).fill('gateway.internal'),
      );
    });

    it('shows new connections the new certificate, and cuts no call in work', async () => {
      const [cert, key] = [folder.put('cert', pemPath('server.pem')), folder.put('key', pemPath('server.key'))];
      const files = watch(cert, key);
      const gate = Promise.withResolvers<void>();
      const entered = Promise.withResolvers<void>();
      const address = await serve(files, { restore: () => (entered.resolve(), gate.promise.then(() => ({}))) });
      const call = rig.client(address, { credentials: callerCredentials() }).restore({});
      await entered.promise;
      assert.equal(await shownBy(address), 'server');

      // Between the two the files do not fit, which is no reason to stop.
      folder.put('cert', pemPath('renewed-server.pem'));
      assert.equal(await shownBy(address), 'server');
      folder.put('key', pemPath('renewed-server.key'));
      await until('the new certificate is shown', async () => (await shownBy(address)) === 'renewed-server');
      gate.resolve();
      await call;
    });
  });

  it('of a channel reconnects with the new files', async () => {
    const ca = folder.put('ca', pemPath('ca.pem'));
    const [cert, key] = [folder.put('cert', pemPath('gateway.pem')), folder.put('key', pemPath('gateway.key'))];
    const files = watch(cert, key, ca);
    const { host, address } = await rig.serve(impl, { tls: { files: mutual(), clientNames: CLIENT_NAMES } });
    const client = rig.client(address.replace('127.0.0.1', 'localhost'), { credentials: channelCredentials(files) });
    await client.restore({});
    folder.put('cert', pemPath('order-svc.pem'));
    folder.put('key', pemPath('order-svc.key'));
    await until('they are read', () => files.current().cert!.equals(pem('order-svc.pem')));
    await host.stop(0);
    await rig.serve(impl, { tls: { files: mutual(), clientNames: CLIENT_NAMES } }, address);
    await until('it is back', () =>
      client.restore({}, { timeoutMs: 1000 }).then(
        () => true,
        () => false,
      ),
    );
    assert.deepEqual([peers[0]?.clientName, peers.at(-1)?.clientName], ['gateway.internal', 'order-svc']);
  });

  describe('of a resumed session', () => {
    /** Connects twice, the second time with the session of the first. Whether the server takes each for verified, and by whom. */
    async function twice(client: ConnectionOptions, between: () => Promise<void> = () => Promise.resolve()) {
      const files = watch(pemPath('server.pem'), pemPath('server.key'), folder.put('ca', pemPath('ca.pem')));
      const server = createServer(doorTlsOptions({ files, clientNames: CLIENT_NAMES }));
      files.onChange((pems) => server.setSecureContext(pems));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const seen: unknown[] = [];
      let session: Buffer | undefined;
      for (const round of [1, 2]) {
        if (round === 2) await between();
        const accepted = once(server, 'secureConnection') as Promise<[TLSSocket]>;
        const socket = connectTls({ ...client, ca: pem('ca.pem'), servername: 'localhost', port, session });
        const ticket = once(socket, 'session') as Promise<[Buffer]>;
        const [peer] = await accepted;
        const name = (peer.authorized && peer.getPeerCertificate().subject?.CN) || 'nobody';
        seen.push([peer.isSessionReused() ? 'resumed' : 'new', name]);
        peer.end('x');
        socket.resume();
        if (round === 1) [session] = await ticket;
        socket.destroy();
      }
      server.close();
      return seen;
    }
    const as = (name: string) => ({ cert: pem(`${name}.pem`), key: pem(`${name}.key`) });

    it('knows the client as before', async () =>
      assert.deepEqual(await twice(as('order-svc')), [
        ['new', 'order-svc'],
        ['resumed', 'order-svc'],
      ]));

    it('believes a certificate of another authority no more than before', async () =>
      assert.deepEqual(await twice(as('forged')), [
        ['new', 'nobody'],
        ['resumed', 'nobody'],
      ]));

    it('believes a client without a certificate no more than before', async () =>
      assert.deepEqual(await twice({}), [
        ['new', 'nobody'],
        ['resumed', 'nobody'],
      ]));

    it('is over when the authority is another: a client of the old one is nobody', async () => {
      const change = async () => {
        folder.put('ca', pemPath('other-ca.pem'));
        await until('it is read', () => watched[0]!.current().ca!.equals(pem('other-ca.pem')));
      };
      assert.deepEqual(await twice(as('order-svc'), change), [
        ['new', 'order-svc'],
        ['new', 'nobody'],
      ]);
    });
  });

  const broken: [string, [string, string, string?], RegExp][] = [
    ["a key that is another certificate's", ['server.pem', 'gateway.key'], /CERT, KEY: .*key values mismatch/],
    [
      'a certificate that has expired',
      ['expired-server.pem', 'expired-server.key'],
      /CERT, KEY: the certificate has exp/,
    ],
    ['a key in place of a certificate', ['server.key', 'server.key'], /CERT, KEY: there is no certificate in it/],
    [
      'an authority that is no certificate',
      ['server.pem', 'server.key', 'make.sh'],
      /CA: there is no certificate in it/,
    ],
    ['a file that is not there', ['server.pem', 'nothing.key'], /KEY: cannot be read \(ENOENT\)$/],
  ];
  for (const [what, [cert, key, ca], message] of broken) {
    it(`refuses ${what}`, () =>
      assert.throws(
        () => watch(pemPath(cert), pemPath(key), ca && pemPath(ca)),
        (error: Error) => error instanceof ConfigError && message.test(error.message),
      ));
  }
});

/** The common name in the certificate that a server shows to a new connection. */
async function shownBy(address: string): Promise<string> {
  const port = Number(address.split(':').at(-1));
  const socket = connectTls({
    host: '127.0.0.1',
    servername: 'localhost',
    port,
    ca: pem('ca.pem'),
    ALPNProtocols: ['h2'],
  });
  await once(socket, 'secureConnect');
  const name = socket.getPeerCertificate().subject.CN;
  socket.destroy();
  return String(name);
}
