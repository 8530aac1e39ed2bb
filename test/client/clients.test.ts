import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Client, Code, type HandlerContext, type ServiceImpl } from '@connectrpc/connect';
import { connectOrderService } from '../../client/clients.ts';
import { createOrderClient } from '../../client/web.ts';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { commonError } from '../../runtime/rpc/errors.ts';
import { GrpcHost } from '../../runtime/rpc/host.ts';
import { failureOf } from '../runtime/rpc/rig.ts';
import { untilGivenUp } from '../support/stock-edge.ts';
import { openWebDoor } from './web-door.ts';

type Impl = Partial<ServiceImpl<typeof OrderService>>;

/** Opens a door for `impl`, and a client of it. */
const doors: Record<string, (impl: Impl) => Promise<{ client: Client<typeof OrderService>; close: () => unknown }>> = {
  async connectOrderService(impl) {
    const host = new GrpcHost({ interceptors: [], deadline: { defaultMs: 60_000, maxMs: 60_000 } });
    host.add(OrderService, impl);
    const { client, close } = connectOrderService(await host.listen('127.0.0.1:0'));
    return { client, close: () => (close(), host.stop(0)) };
  },
  async createOrderClient(impl) {
    const { baseUrl, close } = await openWebDoor(impl);
    return { client: createOrderClient(baseUrl), close };
  },
};

for (const [name, open] of Object.entries(doors)) {
  describe(`a client of ${name}`, () => {
    let calls: HandlerContext[] = [];
    let client: Client<typeof OrderService>;
    let close: () => unknown;
    let answer: (context: HandlerContext) => Promise<object> = () => Promise.resolve({});
    before(async () => {
      const serve = (_request: unknown, context: HandlerContext) => (calls.push(context), answer(context));
      const impl = { createOrder: serve, getOrder: serve, getOrderByClientRequestId: serve };
      ({ client, close } = await open(impl));
    });
    beforeEach(() => (calls = []));
    after(() => close());

    const away = () => Promise.reject(commonError('SERVICE_UNAVAILABLE', 'away'));

    it('never repeats a CreateOrder without a key', async () => {
      answer = away;
      await failureOf(client.createOrder({}));
      await failureOf(client.createOrder({ clientRequestId: '' }));
      assert.equal(calls.length, 2);
    });

    it('repeats a CreateOrder with a key, and reads, with back-off', async () => {
      answer = away;
      for (const call of [
        () => client.createOrder({ clientRequestId: 'k' }),
        () => client.getOrder({}),
        () => client.getOrderByClientRequestId({}),
      ]) {
        calls = [];
        const error = await failureOf(call());
        assert.deepEqual([error.code, error.rawMessage], [Code.Unavailable, 'away']);
        assert.deepEqual(
          calls.map(({ requestHeader }) => requestHeader.get('grpc-previous-rpc-attempts')),
          [null, '1', '2', '3'],
        );
      }
    });

    it('gives a call 5 s, or what it is told', async () => {
      answer = () => Promise.resolve({});
      await client.getOrder({});
      await client.getOrder({}, { timeoutMs: 700 });
      const [usual, told] = calls.map(({ timeoutMs }) => timeoutMs()!);
      assert.ok(usual! > 3000 && usual! <= 5000, String(usual));
      assert.ok(told! > 0 && told! <= 700, String(told));
    });

    it('gives up at the deadline though nobody answers', async () => {
      answer = untilGivenUp;
      assert.equal((await failureOf(client.getOrder({}, { timeoutMs: 50 }))).code, Code.DeadlineExceeded);
      assert.equal((await failureOf(client.getOrder({}, { timeoutMs: 0 }))).code, Code.DeadlineExceeded);
    });

    it('gives up when its caller cancels', async () => {
      answer = untilGivenUp;
      const controller = new AbortController();
      const call = failureOf(client.getOrder({}, { signal: controller.signal }));
      setImmediate(() => controller.abort());
      assert.equal((await call).code, Code.Canceled);
    });
  });
}

describe('a client for browsers', () => {
  it('sends the deadline as Connect does, and not as gRPC does', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const options = { timeoutMs: 700, headers: { 'x-user-id': '1' } };
    const call = failureOf(createOrderClient(`http://127.0.0.1:${port}`).getOrder({}, options));
    const [{ headers }] = (await once(server, 'request')) as [IncomingMessage];
    server.closeAllConnections();
    server.close();
    await call;
    const { 'connect-timeout-ms': timeout, 'grpc-timeout': none, 'x-user-id': user } = headers;
    assert.deepEqual([timeout, none, user], ['700', undefined, '1']);
  });

  it('shows the token of the moment at each attempt', async () => {
    const seen: (string | null)[] = [];
    const door = await openWebDoor({
      getOrder(_request, { requestHeader }) {
        seen.push(requestHeader.get('authorization'));
        throw commonError('SERVICE_UNAVAILABLE', 'away');
      },
    });
    let tokens = 0;
    await failureOf(createOrderClient(door.baseUrl, { token: () => `t${++tokens}` }).getOrder({}));
    await door.close();
    assert.deepEqual(seen, ['Bearer t1', 'Bearer t2', 'Bearer t3', 'Bearer t4']);
  });

  it('takes a connection that fails for UNAVAILABLE', async () => {
    const door = await openWebDoor({});
    await door.close();
    assert.equal((await failureOf(createOrderClient(door.baseUrl).getOrder({}))).code, Code.Unavailable);
  });
});
