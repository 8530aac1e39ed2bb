import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { Code } from '@connectrpc/connect';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { Readiness } from '../../../runtime/lifecycle/readiness.ts';
import { addStandardServices } from '../../../runtime/rpc/add-standard-services.ts';
import { frame, grpcExchange, type Sent } from '../../wire/exchange.ts';
import { abortOf, Rig } from './rig.ts';

const path = '/ordersystem.stock.v1.StockService/GetStock';
const REFLECTION = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
// Field 7, list_services, with an empty text.
const LIST_SERVICES = Buffer.of(0x3a, 0);
const empty = Buffer.alloc(0);
const gzip = { 'grpc-encoding': 'gzip' };

describe('GrpcHost, past any client,', () => {
  const rig = new Rig();
  let session: ClientHttp2Session;
  let leftMs: number | undefined;
  async function dial(requestMs?: number) {
    const impl = {
      getStock: (_: unknown, { timeoutMs }: { timeoutMs: () => number | undefined }) => ((leftMs = timeoutMs()), {}),
    };
    const { address } = await rig.serve(impl, requestMs === undefined ? {} : { requestMs });
    session = connect(`http://${address}`);
    await once(session, 'connect');
  }
  afterEach(async () => {
    session.destroy();
    await rig.close();
  });

  const refusals: Record<string, [sent: Partial<Sent>, reason: string]> = {
    'no message at all': [{}, 'INVALID_REQUEST'],
    'half of a frame': [{ body: Buffer.of(0, 0, 0) }, 'INVALID_REQUEST'],
    'a message shorter than it says': [{ body: frame(Buffer.alloc(4), { length: 400 }) }, 'INVALID_REQUEST'],
    'a message longer than it says': [{ body: frame(Buffer.alloc(400), { length: 4 }) }, 'INVALID_REQUEST'],
    'two messages': [{ body: Buffer.concat([frame(empty), frame(empty)]) }, 'INVALID_REQUEST'],
    'a message of 4 GiB, it says': [{ body: frame(empty, { length: 2 ** 32 - 1 }) }, 'REQUEST_TOO_LARGE'],
    'the flag of a packed message, and not how': [{ body: frame(gzipSync(empty), { flag: 1 }) }, 'INVALID_REQUEST'],
    'noise for gzip': [{ headers: gzip, body: frame(Buffer.alloc(4), { flag: 1 }) }, 'INVALID_REQUEST'],
    'nothing for gzip': [{ headers: gzip, body: frame(empty, { flag: 1 }) }, 'INVALID_REQUEST'],
    'half of a gzip': [
      { headers: gzip, body: frame(gzipSync(Buffer.alloc(999)).subarray(0, 16), { flag: 1 }) },
      'INVALID_REQUEST',
    ],
    '64 MiB of zeros, packed': [
      { headers: gzip, body: frame(gzipSync(Buffer.alloc(64 << 20)), { flag: 1 }) },
      'REQUEST_TOO_LARGE',
    ],
    'an encoding that it does not have': [
      { headers: { 'grpc-encoding': 'br' }, body: frame(empty, { flag: 1 }) },
      'INVALID_REQUEST',
    ],
    'a deadline that is none': [{ headers: { 'grpc-timeout': 'soon' }, body: frame(empty) }, 'INVALID_REQUEST'],
  };
  for (const [what, [sent, reason]] of Object.entries(refusals)) {
    it(`answers with an error of the catalogue: ${what}`, async () => {
      await dial();
      assert.equal((await grpcExchange(session, { path, ...sent })).reason, reason);
      assert.equal((await grpcExchange(session, { path, body: frame(empty) })).code, 0);
    });
  }

  // 2^31 ms are 596.5 hours. Go's longest time is 2,562,047 of them.
  for (const timeout of ['597H', '1100H', '2562047H']) {
    it(`takes a deadline that is as good as none: ${timeout}`, async () => {
      await dial();
      const warnings: Error[] = [];
      const note = (warning: Error) => void warnings.push(warning);
      process.on('warning', note);
      const answer = await grpcExchange(session, { path, headers: { 'grpc-timeout': timeout }, body: frame(empty) });
      process.off('warning', note);
      assert.deepEqual(warnings, []);
      assert.equal(answer.code, 0, answer.message);
      assert.ok(leftMs! > 9_000, `${leftMs} ms`);
    });
  }

  for (const timeout of ['0m', '1m', '30m']) {
    it(`tells a caller whose own deadline passes so, with its details: ${timeout}`, async () => {
      const { address } = await rig.serve({ getStock: (_, context) => abortOf(context).then(() => ({})) });
      session = connect(`http://${address}`);
      for (let i = 0; i < 10; i++) {
        const headers = { 'grpc-timeout': timeout };
        assert.equal((await grpcExchange(session, { path, headers, body: frame(empty) })).reason, 'DEADLINE_EXCEEDED');
      }
    });
  }

  it('does not wait for a request that does not come, or not wholly', async () => {
    await dial(100);
    for (const body of [empty, Buffer.of(0, 0, 0, 1), frame(empty)]) {
      assert.equal((await grpcExchange(session, { path, body, end: false })).reason, 'DEADLINE_EXCEEDED');
    }
  });

  it('lets a stream of requests that has begun be, and ends one that has not', async () => {
    const { host, address } = await rig.serve({ getStock: () => ({}) }, { requestMs: 100 });
    const readiness = new Readiness({ checks: {}, intervalMs: 1, logger: silentLogger });
    addStandardServices({ grpc: host }, [], { readiness, reflection: true });
    session = connect(`http://${address}`);
    const stream = () => {
      const headers = { ':method': 'POST', ':path': REFLECTION, 'content-type': 'application/grpc', te: 'trailers' };
      return session.request(headers, { endStream: false });
    };
    const begun = stream();
    begun.write(frame(LIST_SERVICES));
    await once(begun, 'data');
    const silent = stream();
    const [answer] = (await once(silent, 'response')) as [Record<string, string>];
    assert.equal(answer['grpc-status'], String(Code.DeadlineExceeded));
    begun.write(frame(LIST_SERVICES));
    await once(begun, 'data');
    silent.destroy();
    begun.destroy();
  });

  it('has no more than 1024 streams of one connection open', async () => {
    await dial();
    if (session.remoteSettings.maxConcurrentStreams !== 1024) await once(session, 'remoteSettings');
    assert.equal(session.remoteSettings.maxConcurrentStreams, 1024);
  });

  it('writes nothing of a header that it cannot read', async () => {
    await dial();
    const { error } = console;
    const written: unknown[] = [];
    console.error = (...parts) => void written.push(...parts);
    try {
      const headers = { authorization: 'Bearer s\u00e9cret' };
      assert.equal((await grpcExchange(session, { path, headers, body: frame(empty) })).code, 0);
    } finally {
      console.error = error;
    }
    assert.deepEqual(written, []);
  });
});
