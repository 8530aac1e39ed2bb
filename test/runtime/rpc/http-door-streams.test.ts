import assert from 'node:assert/strict';
import { Code, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { ServerReflection, type ServerReflectionResponse } from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { OrderService } from '../../../gen/ordersystem/order/v1/order_service_pb.ts';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { Readiness } from '../../../runtime/lifecycle/readiness.ts';
import { addStandardServices } from '../../../runtime/rpc/add-standard-services.ts';
import type { HttpDoorOptions } from '../../../runtime/rpc/http-door.ts';
import { HttpRig } from './http-rig.ts';
import { failureOf, Rig } from './rig.ts';

const ways: Record<string, (baseUrl: string, httpVersion: '1.1' | '2') => Transport> = {
  Connect: (baseUrl, httpVersion) => createConnectTransport({ baseUrl, httpVersion }),
  'Connect JSON': (baseUrl, httpVersion) => createConnectTransport({ baseUrl, httpVersion, useBinaryFormat: false }),
  'gRPC-Web': (baseUrl, httpVersion) => createGrpcWebTransport({ baseUrl, httpVersion }),
};
const listServices = { messageRequest: { case: 'listServices' as const, value: '' } };

describe('reflection at the HTTP door', () => {
  const rig = new Rig();
  const httpRig = new HttpRig();
  afterEach(async () => {
    await httpRig.close();
    await rig.close();
  });

  async function serve(options: Partial<HttpDoorOptions> & { reflection?: boolean } = {}) {
    const { reflection = true, ...rest } = options;
    const { host: grpc } = await rig.serve({ getStock: () => ({}) });
    const { door: http, url } = await httpRig.serve({ getStock: () => ({}) }, rest);
    const readiness = new Readiness({ checks: {}, intervalMs: 1, logger: silentLogger });
    addStandardServices({ grpc, http }, [OrderService, StockService], { readiness, reflection });
    return { door: http, url };
  }

  /** A stream that stays open until the server ends it. */
  function open(transport: Transport, question: object = listServices): AsyncIterator<ServerReflectionResponse> {
    const over = new Promise<never>(() => undefined);
    async function* requests() {
      yield question;
      await over;
    }
    return createClient(ServerReflection, transport).serverReflectionInfo(requests())[Symbol.asyncIterator]();
  }

  for (const [name, transportTo] of Object.entries(ways)) {
    it(`answers each request of a stream at once, with what is at this port: ${name}`, async () => {
      const { url } = await serve();
      const { value } = (await open(transportTo(url, '2')).next()) as IteratorYieldResult<ServerReflectionResponse>;
      assert.equal(value.messageResponse.case, 'listServicesResponse');
      const names = (value.messageResponse.value as { service: { name: string }[] }).service.map((one) => one.name);
      const reflection = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'];
      assert.deepEqual(names, [...reflection, OrderService.typeName, StockService.typeName]);
    });

    it(`is not there over HTTP/1.1, which has no two streams at once: ${name}`, async () => {
      const { url } = await serve();
      await failureOf(open(transportTo(url, '1.1')).next());
    });

    it(`is not there when it is turned off: ${name}`, async () => {
      const { url } = await serve({ reflection: false });
      assert.equal((await failureOf(open(transportTo(url, '2')).next())).code, Code.Unimplemented);
    });

    it(`refuses a request that is too long: ${name}`, async () => {
      const { url } = await serve({ maxMessageBytes: 100 });
      const question = { messageRequest: { case: 'fileByFilename', value: 'x'.repeat(200) } };
      assert.equal((await failureOf(open(transportTo(url, '2'), question).next())).code, Code.ResourceExhausted);
    });

    it(`ends a stream that stays open, when its time is over: ${name}`, async () => {
      const { url } = await serve({ limits: { requestMs: 100 } });
      const stream = open(transportTo(url, '2'));
      await stream.next();
      await failureOf(stream.next());
    });

    it(`ends a stream that stays open when the door stops, long before its grace: ${name}`, async () => {
      const { url, door } = await serve();
      const stream = open(transportTo(url, '2'));
      await stream.next();
      const next = stream.next();
      await door.stop(60_000);
      assert.equal((await next).done, true);
    });
  }
});
