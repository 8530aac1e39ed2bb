import assert from 'node:assert/strict';
import { Code, type Interceptor } from '@connectrpc/connect';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { reasonOf } from '../../../runtime/rpc/errors.ts';
import { GrpcHost } from '../../../runtime/rpc/host.ts';
import { failureOf, Rig, sendBytes } from './rig.ts';

const RESTORE = '/ordersystem.stock.v1.StockService/Restore';

describe('GrpcHost', () => {
  const rig = new Rig();
  afterEach(() => rig.close());

  it('hands the request to the implementation and answers with what it returns', async () => {
    const client = await rig.clientOf({
      getStock: ({ productIds }) => ({
        stocks: productIds.map((productId) => ({ productId, title: 'ü', available: 3n })),
      }),
    });
    const { stocks } = await client.getStock({ productIds: [1n, 2n ** 53n + 1n] });
    assert.deepEqual(
      stocks.map(({ productId, title, available }) => [productId, title, available]),
      [
        [1n, 'ü', 3n],
        [9007199254740993n, 'ü', 3n],
      ],
    );
  });

  it('calls a method on its own object', async () => {
    class Stock {
      readonly replayed = true;
      receiveStock() {
        return { replayed: this.replayed };
      }
    }
    const client = await rig.clientOf(new Stock());
    assert.equal((await client.receiveStock({})).replayed, true);
  });

  it('runs interceptors around the implementation, the first one outermost', async () => {
    const order: string[] = [];
    const named = (name: string): Interceptor => {
      return (next) => async (request) => {
        order.push(`${name} ${request.method.name}`);
        const response = await next(request);
        order.push(`${name} after`);
        return response;
      };
    };
    const restore = () => (order.push('restore'), {});
    const client = await rig.clientOf({ restore }, { interceptors: [named('outer'), named('inner')] });
    await client.restore({});
    assert.deepEqual(order, ['outer Restore', 'inner Restore', 'restore', 'inner after', 'outer after']);
  });

  it('answers INVALID_REQUEST to bytes that are no message, and does not call the implementation', async () => {
    const { address } = await rig.serve({ restore: () => assert.fail('called') });
    const error = await sendBytes(address, RESTORE, Buffer.from([0x0a, 0x7f, 0x01]));
    assert.deepEqual([Code[error.code], reasonOf(error)], ['InvalidArgument', 'INVALID_REQUEST']);
  });

  it('answers UNIMPLEMENTED to a method that was left out', async () => {
    const client = await rig.clientOf({ restore: () => ({}) });
    assert.equal((await failureOf(client.deduct({}))).code, Code.Unimplemented);
  });

  it('answers RESOURCE_EXHAUSTED to a request over the limit, and lives on', async () => {
    const client = await rig.clientOf({ restore: () => ({}) }, { maxMessageBytes: 1000 });
    const error = await failureOf(client.restore({ orderNo: 'x'.repeat(1000) }));
    assert.equal(error.code, Code.ResourceExhausted);
    assert.ok(await client.restore({ orderNo: 'x'.repeat(990) }));
  });

  it('does not listen on a port that is taken', async () => {
    const { address } = await rig.serve({ restore: () => ({}) });
    await assert.rejects(rig.serve({ restore: () => ({}) }, {}, address), /EADDRINUSE/);
  });

  it('refuses a request with too much metadata, whatever its kind, and lives on', async () => {
    const client = await rig.clientOf({ restore: () => ({}) });
    const ask = (bytes: number, name = 'x-note') => client.restore({}, { headers: { [name]: 'A'.repeat(bytes) } });
    assert.ok(await ask(15_000));
    for (const [bytes, name] of [
      [16_384, 'x-note'],
      [60_000, 'x-note'],
      [24_000, 'x-note-bin'],
    ] as const) {
      const error = await failureOf(ask(bytes, name));
      assert.equal(reasonOf(error), 'INVALID_REQUEST');
      assert.match(error.rawMessage, /^metadata: must have at most 16384 bytes, had \d+$/);
    }
    // More than Node lets in at all.
    await failureOf(ask(100_000));
    assert.ok(await ask(15_000));
  });

  it('refuses methods for which it has no way: with interceptors all that are not unary, without them streams of requests', () => {
    const host = new GrpcHost({ interceptors: [(next) => next], deadline: { defaultMs: 1, maxMs: 1 } });
    const add = (methodKind: string, open = false) => {
      const methods = [{ ...StockService.methods[0]!, methodKind }];
      host.add({ ...StockService, methods } as never, { deduct: () => ({}) }, { open });
    };
    assert.throws(() => add('server_streaming'), /StockService\.Deduct is not unary/);
    assert.throws(() => add('client_streaming', true), /StockService\.Deduct is not unary/);
    add('server_streaming', true);
  });
});
