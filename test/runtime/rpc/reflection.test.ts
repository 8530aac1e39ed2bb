import assert from 'node:assert/strict';
import { create, createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
} from '@bufbuild/protobuf/wkt';
import { Code, createClient } from '@connectrpc/connect';
import { Health } from '../../../gen/health/v1/health_pb.ts';
import {
  ServerReflection,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as V1Alpha } from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { OrderService } from '../../../gen/ordersystem/order/v1/order_service_pb.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { Readiness } from '../../../runtime/lifecycle/readiness.ts';
import { addStandardServices } from '../../../runtime/rpc/add-standard-services.ts';
import { reflectionService } from '../../../runtime/rpc/reflection.ts';
import { failureOf, Rig } from './rig.ts';

type Question = ServerReflectionResponse['originalRequest'] extends infer R | undefined
  ? R extends { messageRequest: infer M }
    ? M
    : never
  : never;

for (const version of [ServerReflection, V1Alpha] as const) {
  describe(version.typeName, () => {
    const rig = new Rig();
    afterEach(() => rig.close());

    async function serve(reflection = true) {
      const { host, address } = await rig.serve({ restore: () => ({}) });
      const readiness = new Readiness({ checks: {}, intervalMs: 1, logger: silentLogger });
      addStandardServices({ grpc: host }, [OrderService], { readiness, reflection });
      return createClient(version, rig.foreignTransport(address));
    }

    /** Asks in one stream. Returns the answers, as they are. */
    async function ask(...questions: Question[]) {
      const client = await serve();
      async function* requests() {
        for (const messageRequest of questions) yield { host: 'a-host', messageRequest };
      }
      const answers: ServerReflectionResponse['messageResponse'][] = [];
      for await (const { validHost, originalRequest, messageResponse } of client.serverReflectionInfo(requests())) {
        assert.equal(validHost, 'a-host');
        assert.deepEqual(originalRequest?.messageRequest.case, questions[answers.length]!.case);
        answers.push(messageResponse as ServerReflectionResponse['messageResponse']);
      }
      assert.equal(answers.length, questions.length);
      return answers;
    }

    /** The files that answer a question. They must make a whole: nothing that one imports is missing, or comes after it. */
    async function filesFor(question: Question) {
      const [answer] = await ask(question);
      assert.equal(answer!.case, 'fileDescriptorResponse', JSON.stringify(answer));
      const bytes = (answer!.value as { fileDescriptorProto: Uint8Array[] }).fileDescriptorProto;
      const file = bytes.map((one) => fromBinary(FileDescriptorProtoSchema, one));
      const registry = createFileRegistry(create(FileDescriptorSetSchema, { file }));
      return { registry, names: file.map(({ name }) => name) };
    }

    it('lists every service of the server', async () => {
      const [answer] = await ask({ case: 'listServices', value: '' });
      const names = (answer!.value as { service: { name: string }[] }).service.map(({ name }) => name);
      const expected = [Health, ServerReflection, V1Alpha, OrderService].map(({ typeName }) => typeName);
      assert.deepEqual(names, expected);
    });

    it('has each file by its name, with all that it imports', async () => {
      const file = 'ordersystem/order/v1/order_service.proto';
      const { names, registry } = await filesFor({ case: 'fileByFilename', value: file });
      assert.equal(names.at(-1), file);
      assert.ok(names.includes('google/protobuf/timestamp.proto'), 'what is imported by what it imports');
      const service = registry.getService(OrderService.typeName);
      assert.equal(service!.method['getOrder']!.idempotency, OrderService.method.getOrder.idempotency);
      assert.equal(service!.methods.length, OrderService.methods.length);
    });

    for (const [symbol, file] of [
      ['ordersystem.order.v1.OrderService', 'ordersystem/order/v1/order_service.proto'],
      ['ordersystem.order.v1.OrderService.CreateOrder', 'ordersystem/order/v1/order_service.proto'],
      ['ordersystem.order.v1.CreateOrderRequest', 'ordersystem/order/v1/order_service.proto'],
      ['ordersystem.order.v1.CreateOrderRequest.client_request_id', 'ordersystem/order/v1/order_service.proto'],
      ['ordersystem.order.v1.Order', 'ordersystem/order/v1/order.proto'],
      ['ordersystem.order.v1.OrderStatus', 'ordersystem/order/v1/order.proto'],
      ['ordersystem.order.v1.ORDER_STATUS_UNSPECIFIED', 'ordersystem/order/v1/order.proto'],
      ['google.protobuf.Timestamp', 'google/protobuf/timestamp.proto'],
      ['grpc.health.v1.HealthCheckResponse.ServingStatus', 'health/v1/health.proto'],
      ['grpc.health.v1.HealthCheckResponse.SERVING', 'health/v1/health.proto'],
      ['google.rpc.ErrorInfo', 'google/rpc/error_details.proto'],
      ['google.rpc.Status', 'google/rpc/status.proto'],
    ] as const) {
      it(`finds the file of ${symbol}`, async () => {
        assert.equal((await filesFor({ case: 'fileContainingSymbol', value: symbol })).names.at(-1), file);
      });
    }

    it('answers NOT_FOUND to what it does not have, and goes on', async () => {
      const extension = { containingType: 'google.rpc.Status', extensionNumber: 7 } as never;
      const answers = await ask(
        { case: 'fileByFilename', value: 'nothing.proto' },
        { case: 'fileContainingSymbol', value: 'ordersystem.order.v1' },
        { case: 'fileContainingExtension', value: extension },
        { case: 'allExtensionNumbersOfType', value: 'ordersystem.Nothing' },
        { case: undefined },
        { case: 'allExtensionNumbersOfType', value: 'google.rpc.Status' },
      );
      const told = answers.map(({ case: kind, value }) => {
        const { errorCode, extensionNumber } = value as unknown as { errorCode?: Code; extensionNumber?: number[] };
        return errorCode === undefined ? [kind, extensionNumber] : [kind, Code[errorCode]];
      });
      assert.deepEqual(told, [
        ...Array<string[]>(4).fill(['errorResponse', 'NotFound']),
        ['errorResponse', 'InvalidArgument'],
        ['allExtensionNumbersResponse', []],
      ]);
    });

    it('can be turned off', async () => {
      const client = await serve(false);
      async function* requests() {
        yield { messageRequest: { case: 'listServices' as const, value: '' } };
      }
      const stream = client.serverReflectionInfo(requests())[Symbol.asyncIterator]();
      assert.equal((await failureOf(stream.next())).code, Code.Unimplemented);
    });
  });
}

describe('reflectionService', () => {
  it('finds extensions, also those of a message in another file', async () => {
    const label = FieldDescriptorProto_Label.OPTIONAL;
    const type = FieldDescriptorProto_Type.INT32;
    const extension = { name: 'more', number: 100, extendee: '.a.Base', label, type };
    const base = { name: 'Base', extensionRange: [{ start: 100, end: 200 }] };
    const file = [
      { name: 'a.proto', package: 'a', syntax: 'proto2', messageType: [base] },
      {
        name: 'b.proto',
        package: 'b',
        syntax: 'proto2',
        dependency: ['a.proto'],
        extension: [extension],
        service: [{ name: 'S' }],
      },
    ];
    const service = createFileRegistry(create(FileDescriptorSetSchema, { file })).getService('b.S');
    async function* requests() {
      for (const messageRequest of [
        { case: 'allExtensionNumbersOfType' as const, value: 'a.Base' },
        { case: 'fileContainingExtension' as const, value: { containingType: 'a.Base', extensionNumber: 100 } },
        { case: 'fileContainingSymbol' as const, value: 'b.more' },
      ])
        yield create(ServerReflectionRequestSchema, { messageRequest });
    }
    const answers = [];
    for await (const answer of reflectionService([service!]).serverReflectionInfo(requests(), undefined as never)) {
      const { fileDescriptorResponse: files, ...other } = {
        [answer.messageResponse!.case!]: answer.messageResponse!.value,
      };
      const protos = (files as { fileDescriptorProto: Uint8Array[] } | undefined)?.fileDescriptorProto;
      answers.push(protos?.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name) ?? other);
    }
    assert.deepEqual(answers, [
      { allExtensionNumbersResponse: { baseTypeName: 'a.Base', extensionNumber: [100] } },
      ['a.proto', 'b.proto'],
      ['a.proto', 'b.proto'],
    ]);
  });
});
