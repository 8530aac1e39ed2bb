import assert from 'node:assert/strict';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { RestoreRequestSchema } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { reasonOf } from '../../../runtime/rpc/errors.ts';
import { clientOf, everyWay, HttpRig, post, refusalIn } from './http-rig.ts';
import { failureOf, type StockImpl } from './rig.ts';

const MIB = 1024 * 1024;
const binary = { 'content-type': 'application/proto' };
const grpcWeb = { 'content-type': 'application/grpc-web+proto' };

describe('a body at an HTTP door', () => {
  const rig = new HttpRig();
  let orders: string[];
  let url: string;
  const impl: StockImpl = { restore: ({ orderNo }) => (orders.push(orderNo), {}) };

  beforeEach(async () => {
    orders = [];
    ({ url } = await rig.serve(impl));
  });
  afterEach(() => rig.close());

  const message = Buffer.from(toBinary(RestoreRequestSchema, create(RestoreRequestSchema, { orderNo: '7' })));

  it('may be packed with gzip or brotli, in each protocol', async () => {
    const json = '{"orderNo":"7"}';
    const requests: [Uint8Array, Record<string, string>][] = [
      [gzipSync(json), { 'content-encoding': 'gzip' }],
      [brotliCompressSync(json), { 'content-encoding': 'br' }],
      [gzipSync(message), { ...binary, 'content-encoding': 'gzip' }],
      [frame(gzipSync(message), 1), { ...grpcWeb, 'grpc-encoding': 'gzip' }],
    ];
    for (const [body, headers] of requests)
      assert.equal((await post(url, 'Restore', Buffer.from(body), headers)).status, 200);
    assert.deepEqual(orders, ['7', '7', '7', '7']);
  });

  for (const way of everyWay) {
    it(`may be 1 MiB and no more: ${way}`, async () => {
      const client = clientOf(way, url);
      assert.ok(await client.restore({ orderNo: 'x'.repeat(MIB - 16) }));
      const error = await failureOf(client.restore({ orderNo: 'x'.repeat(MIB) }));
      assert.deepEqual([Code[error.code], reasonOf(error)], ['ResourceExhausted', 'REQUEST_TOO_LARGE']);
      assert.ok(await client.restore({}));
      assert.equal(orders.length, 2);
    });
  }

  it('is refused when too much of it has come, whatever its header said', async () => {
    let sent = 0;
    const endless = new ReadableStream({
      pull(controller) {
        controller.enqueue(Buffer.alloc(64 * 1024, ' '));
        if (++sent === 1000) controller.close();
      },
    });
    const { status, reason } = await refusalIn(await post(url, 'Restore', endless));
    assert.deepEqual([status, reason], [429, 'REQUEST_TOO_LARGE']);
    assert.ok(sent < 500, `${sent * 64} KiB were taken`);
  });

  it('is refused when it unpacks to more', async () => {
    const bomb = gzipSync(Buffer.alloc(8 * MIB));
    const requests: [Uint8Array, Record<string, string>][] = [
      [bomb, { 'content-encoding': 'gzip' }],
      [
        brotliCompressSync(Buffer.alloc(8 * MIB), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
        { 'content-encoding': 'br' },
      ],
    ];
    for (const [body, headers] of requests) {
      const { status, reason } = await refusalIn(await post(url, 'Restore', Buffer.from(body), headers));
      assert.deepEqual([status, reason], [429, 'REQUEST_TOO_LARGE']);
    }
    const response = await post(url, 'Restore', frame(bomb, 1), { ...grpcWeb, 'grpc-encoding': 'gzip' });
    assert.match(await response.text(), /grpc-status: 8\r\n/);
    assert.deepEqual(orders, []);
  });

  const wrong: [what: string, body: Buffer, headers: Record<string, string>, field?: string][] = [
    ['a packing that nobody has', Buffer.from('{}'), { 'content-encoding': 'zip' }, 'content-encoding'],
    ['no gzip', Buffer.from('{}'), { 'content-encoding': 'gzip' }, 'content-encoding'],
    ['half of a gzip', gzipSync('{"orderNo":"7"}').subarray(0, 20), { 'content-encoding': 'gzip' }, 'content-encoding'],
    ['no message', Buffer.from([0x0a, 0x7f, 0x01]), binary],
    ['no UTF-8', Buffer.from([...Buffer.from('{"orderNo":"'), 0xff, 0x22, 0x7d]), {}],
    ['no JSON', Buffer.from('{"orderNo":'), {}],
    ['an unknown field', Buffer.from('{"orderNr":"7"}'), {}, 'orderNr'],
  ];
  for (const [what, body, headers, field] of wrong) {
    it(`is refused by name when it is ${what}`, async () => {
      const { status, reason, fields } = await refusalIn(await post(url, 'Restore', body, headers));
      assert.deepEqual([status, reason, fields[0]?.field], [400, 'INVALID_REQUEST', field]);
      assert.deepEqual(orders, []);
    });
  }

  const frames: Record<string, Buffer> = {
    nothing: Buffer.alloc(0),
    'a frame without its message': Buffer.from([0, 0, 0, 0, 5]),
    'half a header': Buffer.from([0, 0, 0]),
    'a frame that ends too early': frame(message).subarray(0, 6),
    'a frame and a half': Buffer.concat([frame(message), Buffer.from([0])]),
    'two frames': Buffer.concat([frame(message), frame(message)]),
    'empty trailers': frame(Buffer.alloc(0), 0x80),
    'a frame that says 4 GiB': Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1]),
    'packed, and not said how': frame(gzipSync(message), 1),
  };
  for (const [what, body] of Object.entries(frames)) {
    it(`is refused when it should be a frame of gRPC-Web and is ${what}`, async () => {
      const text = await (await post(url, 'Restore', body, grpcWeb)).text();
      assert.match(text, /grpc-status: 3\r\n/);
      assert.deepEqual(orders, []);
    });
  }
});

function frame(message: Uint8Array, flags = 0): Buffer {
  const header = Buffer.alloc(5);
  header[0] = flags;
  header.writeUInt32BE(message.length, 1);
  return Buffer.concat([header, message]);
}
