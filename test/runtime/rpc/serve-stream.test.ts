import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Code, createClient, type HandlerContext } from '@connectrpc/connect';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { ServerReflection as Streaming } from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { commonError, reasonOf } from '../../../runtime/rpc/errors.ts';
import { fromGrpcStatus } from '../../../runtime/rpc/status.ts';
import { abortOf, failureOf, Rig } from './rig.ts';

type Asked = AsyncIterable<{ host: string }>;
type Answer = { validHost: string };

describe('a method that answers with a stream', () => {
  const rig = new Rig();
  afterEach(() => rig.close());

  async function serve(impl: (requests: Asked, context: HandlerContext) => AsyncIterable<Answer>) {
    const { host, address } = await rig.serve({ restore: () => ({}) });
    host.add(Streaming, { serverReflectionInfo: impl }, { open: true });
    return { host, address, client: createClient(Streaming, rig.foreignTransport(address)) };
  }

  async function* ask(...hosts: string[]) {
    for (const host of hosts) yield { host };
  }

  async function answers(stream: AsyncIterable<Answer>): Promise<string[]> {
    const all: string[] = [];
    for await (const { validHost } of stream) all.push(validHost);
    return all;
  }

  it('gets each request, and sends each answer, in order', async () => {
    const { client } = await serve(async function* (requests) {
      for await (const { host } of requests) yield* [{ validHost: host }, { validHost: `${host}!` }];
      yield { validHost: 'end' };
    });
    assert.deepEqual(await answers(client.serverReflectionInfo(ask('a', 'b'))), ['a', 'a!', 'b', 'b!', 'end']);
  });

  it('may end before the caller has', async () => {
    const { client } = await serve(async function* (requests) {
      for await (const { host } of requests) {
        yield { validHost: host };
        return;
      }
    });
    assert.deepEqual(await answers(client.serverReflectionInfo(ask('a', 'b', 'c'))), ['a']);
  });

  it('waits for a caller who reads slowly', async () => {
    let made = 0;
    const validHost = 'x'.repeat(100_000);
    const { client } = await serve(async function* () {
      for (; made < 200; made++) yield { validHost };
    });
    const stream = client.serverReflectionInfo(ask())[Symbol.asyncIterator]();
    await stream.next();
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.ok(made < 100, `${made} answers for a caller who has read one`);
    let read = 1;
    while (!(await stream.next()).done) read++;
    assert.equal(read, 200);
  });

  it('fails with the error that is thrown, after what was sent before it, and with nothing of any other error', async () => {
    for (const [thrown, expected] of [
      [commonError('UNAUTHENTICATED', 'who are you?'), 'Unauthenticated who are you?'],
      [new Error('the secret'), 'Internal internal error'],
    ] as const) {
      const { client } = await serve(async function* () {
        yield { validHost: 'first' };
        throw thrown;
      });
      const stream = client.serverReflectionInfo(ask())[Symbol.asyncIterator]();
      assert.equal(((await stream.next()).value as Answer).validHost, 'first');
      const { code, rawMessage } = await failureOf(stream.next());
      assert.equal(`${Code[code]} ${rawMessage}`, expected);
      await rig.close();
    }
  });

  it('fails with INVALID_REQUEST on bytes that are no message', async () => {
    const { address } = await serve(echo);
    const { call, failed } = open(address);
    call.on('data', () => assert.fail('an answer'));
    call.write(Buffer.from([0x0a, 0x7f, 0x01]));
    const { code, details } = await failed;
    assert.equal(code, Code.InvalidArgument);
    assert.equal(details, 'the bytes sent are not a grpc.reflection.v1.ServerReflectionRequest');
  });

  it('is told when its caller hangs up, and is waited for by stop', async () => {
    const [told, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const log: string[] = [];
    const { host, client } = await serve(async function* (_requests, context) {
      yield { validHost: 'first' };
      await abortOf(context);
      told.resolve();
      await gate.promise;
      log.push('ended');
    });
    const stream = client.serverReflectionInfo(ask())[Symbol.asyncIterator]();
    await stream.next();
    await stream.return?.();
    await told.promise;
    const stopped = host.stop(0).then(() => log.push('stopped'));
    gate.resolve();
    await stopped;
    assert.deepEqual(log, ['ended', 'stopped']);
  });

  it('is ended by stop with UNAVAILABLE, though it waits for a caller who says nothing', async () => {
    const { host, address } = await serve(echo);
    const { call, failed } = open(address);
    call.write(Buffer.alloc(0));
    await once(call, 'data');
    const startMs = performance.now();
    await host.stop(60_000);
    assert.ok(performance.now() - startMs < 5000);
    assert.equal(reasonOf(fromGrpcStatus(await failed)), 'SERVICE_UNAVAILABLE');
  });

  async function* echo(requests: Asked) {
    for await (const { host } of requests) yield { validHost: host };
  }

  /** A call of grpc-js, whose caller sends bytes when he wants. */
  function open(address: string) {
    const client = new Client(address, credentials.createInsecure());
    const same = (bytes: Buffer) => bytes;
    const call = client.makeBidiStreamRequest(`/${Streaming.typeName}/ServerReflectionInfo`, same, same);
    const failed = new Promise<ServiceError>((resolve) => call.on('error', resolve as (error: Error) => void));
    void failed.then(() => client.close());
    return { call, failed };
  }
});
