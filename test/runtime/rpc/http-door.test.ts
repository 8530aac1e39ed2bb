import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import type { Interceptor } from '@connectrpc/connect';
import { Code } from '@connectrpc/connect';
import { GetStockRequestSchema, StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { HttpDoor } from '../../../runtime/rpc/http-door.ts';
import { type Peer, peerKey } from '../../../runtime/rpc/peer.ts';
import { clientOf, everyWay, HttpRig, pathOf, post, refusalIn } from './http-rig.ts';
import { failureOf, type StockImpl } from './rig.ts';

const echo: StockImpl = {
  getStock: ({ productIds }) => ({ stocks: productIds.map((productId) => ({ productId, title: 'ü', available: 3n })) }),
};

describe('HttpDoor', () => {
  const rig = new HttpRig();
  afterEach(() => rig.close());

  for (const way of everyWay) {
    it(`hands the request to the implementation and answers with what it returns: ${way}`, async () => {
      const client = await rig.clientOf(way, echo);
      const { stocks } = await client.getStock({ productIds: [1n, 2n ** 53n + 1n] });
      assert.deepEqual(
        stocks.map(({ productId, title, available }) => [productId, title, available]),
        [
          [1n, 'ü', 3n],
          [9007199254740993n, 'ü', 3n],
        ],
      );
    });

    it(`answers UNIMPLEMENTED to a method that was left out: ${way}`, async () => {
      const client = await rig.clientOf(way, echo);
      assert.equal((await failureOf(client.deduct({}))).code, Code.Unimplemented);
    });
  }

  it('writes int64 as strings in JSON, and reads them with and without quotes', async () => {
    const { url } = await rig.serve(echo);
    const response = await post(url, 'GetStock', '{"productIds":[1]}');
    assert.equal(response.status, 200);
    assert.equal(await response.text(), '{"stocks":[{"productId":"1","title":"ü","available":"3"}]}');
    const again = await post(url, 'GetStock', '{"product_ids":["9223372036854775807"]}');
    assert.match(await again.text(), /"productId":"9223372036854775807"/);
  });

  it('calls a method on its own object', async () => {
    class Stock {
      readonly replayed = true;
      receiveStock() {
        return { replayed: this.replayed };
      }
    }
    const client = await rig.clientOf('Connect JSON over HTTP/1.1', new Stock());
    assert.equal((await client.receiveStock({})).replayed, true);
  });

  it('runs interceptors around the implementation, the first one outermost, on the message that was sent', async () => {
    const order: string[] = [];
    const named = (name: string): Interceptor => {
      return (next) => async (request) => {
        order.push(`${name} ${request.method.name} ${(request.message as { orderNo?: string }).orderNo}`);
        const response = await next(request);
        order.push(`${name} after`);
        return response;
      };
    };
    const restore = () => (order.push('restore'), {});
    const interceptors = [named('outer'), named('inner')];
    const client = await rig.clientOf('gRPC-Web over HTTP/1.1', { restore }, { interceptors });
    await client.restore({ orderNo: '7' });
    assert.deepEqual(order, ['outer Restore 7', 'inner Restore 7', 'restore', 'inner after', 'outer after']);
  });

  it('tells interceptors who is at the other end, and the handler what headers he sent', async () => {
    const seen: [Peer, string | null][] = [];
    const look: Interceptor = (next) => (request) => {
      seen.push([request.contextValues.get(peerKey), request.header.get('x-user-id')]);
      return next(request);
    };
    const { url } = await rig.serve(echo, { interceptors: [look] });
    for (const way of everyWay) await clientOf(way, url).getStock({}, { headers: { 'x-user-id': '42' } });
    assert.deepEqual(
      seen,
      everyWay.map(() => [{ loopback: true, clientName: undefined }, '42']),
    );
  });

  it('packs a long answer for whoever takes gzip', async () => {
    const { url } = await rig.serve(echo);
    const productIds = Array.from({ length: 100 }, (_one, i) => String(i));
    const body = JSON.stringify({ productIds });
    const response = await post(url, 'GetStock', body, { 'accept-encoding': 'gzip' });
    assert.equal(response.headers.get('content-encoding'), 'gzip');
    assert.equal(((await response.json()) as { stocks: unknown[] }).stocks.length, 100);
  });

  it('refuses a service with a method that is not unary', () => {
    const door = new HttpDoor({ interceptors: [], deadline: { defaultMs: 1, maxMs: 1 } });
    const methods = [{ ...StockService.methods[0]!, methodKind: 'server_streaming' }];
    assert.throws(() => door.add({ ...StockService, methods } as never, {}), /StockService\.Deduct is not unary/);
  });

  it('does not listen on a port that is taken', async () => {
    const { address } = await rig.serve(echo);
    await assert.rejects(rig.serve(echo, {}, address), /EADDRINUSE/);
  });
});

describe('a GET at an HTTP door', () => {
  const rig = new HttpRig();
  afterEach(() => rig.close());

  const bytes = toBinary(GetStockRequestSchema, create(GetStockRequestSchema, { productIds: [5n] }));
  const queries = {
    'JSON as it is': `connect=v1&encoding=json&message=${encodeURIComponent('{"productIds":[5]}')}`,
    'JSON in base64, without padding': `encoding=json&base64=1&message=${base64Url('{"productIds":["5"]}')}`,
    'binary in base64': `connect=v1&encoding=proto&base64=1&message=${base64Url(bytes)}`,
    'JSON, packed': `encoding=json&base64=1&compression=gzip&message=${base64Url(gzipSync('{"productIds":[5]}'))}`,
  };
  for (const [what, query] of Object.entries(queries)) {
    it(`calls a method that has no side effects: ${what}`, async () => {
      let requestMethod = '';
      const { url } = await rig.serve({
        getStock: ({ productIds }, context) => (
          (requestMethod = context.requestMethod),
          { stocks: [{ productId: productIds[0] }] }
        ),
      });
      const response = await fetch(`${url}${pathOf('GetStock')}?${query}`);
      assert.equal(response.status, 200);
      const answer = Buffer.from(await response.arrayBuffer());
      const binary = query.includes('proto');
      assert.equal(response.headers.get('content-type'), binary ? 'application/proto' : 'application/json');
      assert.equal(
        binary ? answer.toString('hex') : String(answer),
        binary ? '0a020805' : '{"stocks":[{"productId":"5"}]}',
      );
      assert.equal(requestMethod, 'GET');
    });
  }

  it('is refused for a method that has side effects', async () => {
    const { url } = await rig.serve({ restore: () => assert.fail('called') });
    const response = await fetch(`${url}${pathOf('Restore')}?connect=v1&encoding=json&message={}`);
    assert.equal(response.headers.get('allow'), 'POST');
    const { status, code, reason, message } = await refusalIn(response);
    assert.deepEqual([status, code, reason], [405, 'invalid_argument', 'INVALID_REQUEST']);
    assert.equal(message, 'Restore is called by POST');
  });

  const wrong: [string, string][] = [
    ['encoding', 'message={}'],
    ['encoding', 'encoding=xml&message={}'],
    ['message', 'encoding=proto&base64=1&message=***'],
    ['compression', 'encoding=json&compression=zip&message={}'],
  ];
  for (const [field, query] of wrong) {
    it(`is refused with the name of what is wrong: ${query}`, async () => {
      const { url } = await rig.serve({ getStock: () => assert.fail('called') });
      const refusal = await refusalIn(await fetch(`${url}${pathOf('GetStock')}?${query}`));
      assert.deepEqual([refusal.status, refusal.reason], [400, 'INVALID_REQUEST']);
      assert.equal(refusal.fields[0]?.field, field);
    });
  }
});

describe('what an HTTP door says of its answers', () => {
  const rig = new HttpRig();
  afterEach(() => rig.close());

  it('is that nobody may keep them, good or bad, by GET or POST', async () => {
    const { url } = await rig.serve(echo);
    const answers = [
      await fetch(`${url}${pathOf('GetStock')}?encoding=json&message={}`),
      await post(url, 'GetStock', '{}'),
      await post(url, 'GetStock', '{'),
      await fetch(`${url}/readyz`),
      await fetch(`${url}/nothing`),
    ];
    for (const { headers } of answers) {
      assert.equal(headers.get('cache-control'), 'private, no-store');
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      for (const name of ['origin', 'authorization', 'x-user-id']) assert.ok(headers.get('vary')?.includes(name), name);
    }
  });

  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'application/grpc',
    '',
  ]) {
    it(`is 415 and what it takes, to a body that is ${type || 'of no type'}`, async () => {
      const { url } = await rig.serve({ getStock: () => assert.fail('called') });
      const response = await post(url, 'GetStock', '{}', { 'content-type': type });
      assert.match(response.headers.get('accept-post') ?? '', /application\/json, application\/proto/);
      const { status, reason, fields } = await refusalIn(response);
      assert.deepEqual([status, reason, fields[0]?.field], [415, 'INVALID_REQUEST', 'content-type']);
    });
  }

  it('is JSON with its charset, or in capitals, as well', async () => {
    const { url } = await rig.serve(echo);
    for (const type of ['application/json; charset=UTF-8', 'Application/JSON;charset="utf-8"']) {
      assert.equal((await post(url, 'GetStock', '{}', { 'content-type': type })).status, 200);
    }
  });

  it('is 404 and UNIMPLEMENTED where there is no RPC', async () => {
    const { url } = await rig.serve(echo);
    for (const path of ['/', '/ordersystem.stock.v1.StockService/Nothing', '/constructor', '//healthz']) {
      const { status, code } = await refusalIn(await fetch(url + path));
      assert.deepEqual([status, code], [404, 'unimplemented'], path);
    }
  });
});

function base64Url(data: string | Uint8Array): string {
  return Buffer.from(data).toString('base64url');
}
