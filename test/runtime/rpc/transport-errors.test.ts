import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { failureOf, Rig } from './rig.ts';

describe('a call of a gRPC transport', () => {
  const rig = new Rig();
  afterEach(() => rig.close());

  it('fails with RESOURCE_EXHAUSTED on an answer over the limit', async () => {
    const stocks = [{ title: 'x'.repeat(1000) }];
    const { address } = await rig.serve({ getStock: () => ({ stocks }) });
    const error = await failureOf(rig.client(address, { maxMessageBytes: 1000 }).getStock({}));
    assert.equal(error.code, Code.ResourceExhausted);
    assert.ok(await rig.client(address, { maxMessageBytes: 1100 }).getStock({}));
  });

  it('fails with INTERNAL on an answer that is no message', async () => {
    const server = new Server();
    const name = { path: '/ordersystem.stock.v1.StockService/Restore', requestStream: false, responseStream: false };
    const same = (bytes: Buffer) => bytes;
    const codec = {
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    };
    server.addService(
      { restore: { ...name, ...codec } },
      {
        restore: (_call: unknown, callback: (error: null, bytes: Buffer) => void) =>
          callback(null, Buffer.from([0x0a, 0x7f])),
      },
    );
    const port = await new Promise<number>((resolve) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_error, bound) => resolve(bound));
    });
    const error = await failureOf(rig.client(`127.0.0.1:${port}`).restore({}));
    server.forceShutdown();
    assert.equal(error.code, Code.Internal);
  });

  for (const [what, send] of Object.entries({
    'a header that cannot be sent': (client: ReturnType<Rig['client']>) =>
      client.restore({}, { headers: { 'x-note': 'ü' } }),
    'a request that cannot be encoded': (client: ReturnType<Rig['client']>) =>
      client.deduct({ items: [{ productId: 2n ** 80n }] }),
  })) {
    it(`fails with INTERNAL on ${what}`, async () => {
      const client = await rig.clientOf({ restore: () => ({}), deduct: () => ({}) });
      assert.equal((await failureOf(send(client))).code, Code.Internal);
    });
  }

  it('fails with a ConnectError after it was closed', async () => {
    const { address } = await rig.serve({ restore: () => ({}) });
    const transport = rig.transport(address);
    transport.close();
    await assert.rejects(transport.unary(StockService.method.restore, undefined, 1000, undefined, {}), ConnectError);
  });

  it('does not do streams', async () => {
    const stream = rig
      .transport('127.0.0.1:1')
      .stream(StockService.method.restore as never, undefined, undefined, undefined, [] as never);
    assert.equal((await failureOf(stream)).code, Code.Unimplemented);
  });
});
