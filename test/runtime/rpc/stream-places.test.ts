import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import type { DescMethod } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { Admission } from '../../../runtime/rpc/overload.ts';
import { exchange, frame, grpcExchange } from '../../wire/exchange.ts';
import { failureOf, Rig, until } from './rig.ts';

const path = '/ordersystem.stock.v1.StockService/Restore';
const grpc = { 'content-type': 'application/grpc', te: 'trailers' };
const empty = frame(Buffer.alloc(0));

/** Counts the places that were taken, and how often one was given back. */
class CountedAdmission extends Admission {
  taken = 0;
  left = 0;

  override enter(method: DescMethod): () => void {
    const leave = super.enter(method);
    this.taken++;
    return () => {
      this.left++;
      leave();
    };
  }
}

describe('a place that a call has by its headers', () => {
  const rig = new Rig();
  let session: ClientHttp2Session;
  let admission: CountedAdmission;
  let working: (() => void)[];
  beforeEach(() => {
    admission = new CountedAdmission(4, silentLogger);
    working = [];
  });
  afterEach(async () => {
    session.destroy();
    await rig.close();
  });

  /** A host with places for three calls that may change something. Each Restore waits to be let go. */
  async function serve() {
    const restore = () => new Promise<object>((resolve) => working.push(() => resolve({})));
    const { address } = await rig.serve({ restore, getStock: () => ({}) }, { admission });
    session = connect(`http://${address}`);
    session.on('error', () => undefined);
    await once(session, 'connect');
    return rig.client(address);
  }

  const atWork = (count: number) => until(() => Promise.resolve(working.length === count));
  const letGo = () => working.splice(0).forEach((release) => release());

  /** Sends headers, and so much of a message. */
  function begin(sent: Uint8Array = Buffer.alloc(0), headers = {}): ClientHttp2Stream {
    const stream = session.request({ ':method': 'POST', ':path': path, ...grpc, ...headers }, { endStream: false });
    stream.on('error', () => undefined).resume();
    if (sent.length > 0) stream.write(sent);
    return stream;
  }

  /** So many have been taken, and as many given back, and no more of them come back later. */
  async function allBack(taken: number, client: Awaited<ReturnType<typeof serve>>) {
    await until(() => Promise.resolve(admission.left >= taken));
    await client.getStock({});
    await until(() => Promise.resolve(admission.left > taken));
    assert.deepEqual([admission.taken, admission.left], [taken + 1, taken + 1]);
  }

  /** Three calls that have all the room. */
  async function fill() {
    const client = await serve();
    const calls = [1, 2, 3].map(() => client.restore({}));
    await atWork(3);
    const end = async () => {
      letGo();
      await Promise.all(calls);
    };
    return { client, end };
  }

  for (const [what, sent] of Object.entries({
    'nothing more': { end: false },
    'a part of it': { body: Buffer.of(0, 0, 0), end: false },
    'one that is too long': { body: frame(Buffer.alloc(2 << 20)) },
    'one of 4 GiB, it says': { body: frame(Buffer.alloc(0), { length: 2 ** 32 - 1 }) },
    'bytes that are none': { body: frame(Buffer.of(255)) },
  })) {
    it(`is refused when there is none, before its message is read: ${what}`, async () => {
      const { client, end } = await fill();
      const { got, body } = await exchange(session, { body: undefined, end: true, ...sent, path, headers: grpc });
      assert.equal(got[':status'], 200);
      assert.equal(got['grpc-status'], String(Code.ResourceExhausted));
      assert.match(String(got['grpc-retry-pushback-ms']), /^\d{3,4}$/);
      assert.equal(body.length, 0);
      assert.equal((await grpcExchange(session, { path, ...sent })).reason, 'OVERLOADED');
      await end();
      await allBack(3, client);
    });
  }

  it('is not asked of what is no gRPC, or no method', async () => {
    const { client, end } = await fill();
    const { got } = await exchange(session, {
      path,
      headers: { 'content-type': 'text/plain' },
      body: empty,
      end: true,
    });
    assert.equal(got[':status'], 415);
    assert.equal((await grpcExchange(session, { path: `${path}s`, body: empty })).code, Code.Unimplemented);
    await end();
    await allBack(3, client);
  });

  it('comes back once from a call that is answered', async () => {
    const { client, end } = await fill();
    await end();
    await allBack(3, client);
  });

  it('comes back once from a call that is cancelled, when its handler has ended', async () => {
    const client = await serve();
    const controller = new AbortController();
    const call = failureOf(client.restore({}, { signal: controller.signal }));
    await atWork(1);
    controller.abort();
    await call;
    await client.getStock({});
    assert.equal(admission.left, admission.taken - 1);
    letGo();
    await allBack(2, client);
  });

  it('comes back once from a call whose deadline passes, when its handler has ended', async () => {
    const client = await serve();
    const call = failureOf(client.restore({}, { timeoutMs: 50 }));
    assert.equal((await call).code, Code.DeadlineExceeded);
    assert.equal(admission.left, 0);
    letGo();
    await allBack(1, client);
  });

  it('comes back once from calls whose connection is lost, when their handlers have ended', async () => {
    const client = await serve();
    const streams = [1, 2, 3].map(() => begin().end(empty));
    await atWork(3);
    session.destroy();
    for (const stream of streams) if (!stream.closed) await once(stream, 'close');
    assert.equal(admission.left, 0);
    letGo();
    await allBack(3, client);
  });

  const withoutHandler: Record<string, () => Promise<unknown>> = {
    'whose connection is lost before its message is there': async () => {
      begin(Buffer.of(0, 0));
      await until(() => Promise.resolve(admission.taken === 1));
      session.destroy();
    },
    'that is cancelled before its message is there': async () => {
      const stream = begin(Buffer.of(0, 0));
      await until(() => Promise.resolve(admission.taken === 1));
      stream.close();
    },
    'whose deadline passes before its message is there': () =>
      once(begin(Buffer.of(0, 0), { 'grpc-timeout': '1m' }), 'close'),
    'without a message': () => once(begin().end(), 'close'),
    'with a message that is too long': () => once(begin(frame(Buffer.alloc(0), { length: 2 << 20 })), 'close'),
    'with a deadline that is none': () => once(begin(Buffer.alloc(0), { 'grpc-timeout': 'soon' }), 'close'),
  };
  for (const [what, come] of Object.entries(withoutHandler)) {
    it(`comes back once from a call ${what}`, async () => {
      const client = await serve();
      await come();
      await allBack(1, client);
    });
  }

  it('comes back when the message does not follow at once, and is taken again when it does', async () => {
    const client = await serve();
    const late = [1, 2, 3].map(() => begin(empty.subarray(0, 3)));
    await until(() => Promise.resolve(admission.left === 3));
    const calls = [client.restore({}), client.restore({})];
    await atWork(2);
    const refused = Promise.withResolvers<unknown>();
    for (const stream of late) {
      stream.on('response', ({ 'grpc-status': status }) => status === '8' && refused.resolve(status));
      stream.end(empty.subarray(3));
    }
    await atWork(3);
    await refused.promise;
    letGo();
    await Promise.all(calls);
    await allBack(6, client);
  });
});
