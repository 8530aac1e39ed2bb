import { type DescMethodUnary, type DescService, create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  ConnectError,
  type HandlerContext,
  type Interceptor,
  type ServiceImpl,
  type UnaryRequest,
} from '@connectrpc/connect';
import { type handleUnaryCall, type Metadata, Server, type ServerUnaryCall, type StatusObject } from '@grpc/grpc-js';
import { CallContext } from './call-context.ts';
import type { Deadline } from './deadline.ts';
import { abortedError, commonError } from './errors.ts';
import { serverCredentials } from './grpc-credentials.ts';
import { chain } from './interceptors.ts';
import { toMetadata } from './metadata.ts';
import { peerKey } from './peer.ts';
import { peerOfCall } from './peer-of-call.ts';
import { toGrpcStatus } from './status.ts';
import type { DoorTls } from './tls.ts';

/** How a host serves. Times in milliseconds. */
export interface HostOptions {
  /**
   * Outermost first. They must turn every error into a ConnectError that may be sent. They may put another message in the place of
   * an answer's, but not change it: it is encoded already, so that what cannot be encoded is an error that they see.
   */
  interceptors: Interceptor[];
  /** One for all methods, or that of each, as `deadlinesOf` says. */
  deadline: Deadline | ((method: DescMethodUnary) => Deadline);
  /** Longest request that is taken, in bytes; a longer one is RESOURCE_EXHAUSTED. Default 1 MiB. */
  maxMessageBytes?: number;
  /** Default: plain text. */
  tls?: DoorTls;
}

type AnyImpl = (request: unknown, context: HandlerContext) => unknown;

/**
 * Serves Connect implementations of unary methods on a gRPC port of grpc-js.
 *
 * A call ends at its deadline, or when its caller cancels, whatever its handler does; the handler is told by
 * `context.signal`, and `stop` waits for it.
 */
export class GrpcHost {
  readonly #server: Server;
  readonly #options: HostOptions;
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: HostOptions) {
    this.#options = options;
    this.#server = new Server({ 'grpc.max_receive_message_length': options.maxMessageBytes ?? 1024 * 1024 });
  }

  /** Adds a service. All of its methods must be unary; one that `impl` leaves out is answered UNIMPLEMENTED. */
  add<S extends DescService>(service: S, impl: Partial<ServiceImpl<S>>): void {
    const handlers: Record<string, handleUnaryCall<Buffer, Uint8Array>> = {};
    const definition: Record<string, object> = {};
    for (const method of service.methods) {
      if (method.methodKind !== 'unary') throw new Error(`${service.typeName}.${method.name} is not unary`);
      const implementation = (impl as Record<string, AnyImpl | undefined>)[method.localName];
      if (!implementation) continue;
      definition[method.localName] = {
        path: `/${service.typeName}/${method.name}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: identity,
        requestDeserialize: identity,
        responseSerialize: asBuffer,
        responseDeserialize: identity,
      };
      handlers[method.localName] = this.#handler(method as DescMethodUnary, implementation.bind(impl));
    }
    this.#server.addService(definition as never, handlers);
  }

  /** Listens on `host:port`, port 0 for a free one. Returns the address it got. Fails when the port is taken. */
  async listen(address: string): Promise<string> {
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(address, serverCredentials(this.#options.tls), (error, bound) =>
        error ? reject(error) : resolve(bound),
      );
    });
    return address.replace(/:\d+$/, `:${port}`);
  }

  /**
   * Takes no new call, waits for those in work, and ends. Calls that are not over after `graceMs` are cut off. Returns when
   * every handler has ended, also those that went on after their call (a compensation).
   */
  async stop(graceMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#server.forceShutdown(), graceMs);
      this.#server.tryShutdown(() => {
        clearTimeout(timer);
        resolve();
      });
    });
    await Promise.all(this.#running);
  }

  #handler(method: DescMethodUnary, impl: AnyImpl): handleUnaryCall<Buffer, Uint8Array> {
    const { deadline } = this.#options;
    const ofMethod = typeof deadline === 'function' ? deadline(method) : deadline;
    return (call, callback) => {
      const context = new CallContext(call, method, ofMethod);
      context.values.set(peerKey, peerOfCall(call, this.#options.tls));
      let encoded: { message: unknown; bytes: Uint8Array } | undefined;
      const serve = chain(this.#options.interceptors, async (request) => {
        if (context.signal.aborted) throw abortedError(context.signal);
        const message = create(method.output, (await impl(request.message, context)) as never);
        encoded = { message, bytes: toBinary(method.output, message) };
        const { responseHeader: header, responseTrailer: trailer } = context;
        return { stream: false, service: method.parent, method, message, header, trailer };
      });
      let replied = false;
      const reply = (error: ConnectError | null, bytes?: Uint8Array, trailer?: Metadata) => {
        if (replied) return;
        replied = true;
        callback(error && statusOf(error), bytes, trailer);
      };
      // The reply does not wait for a handler that is slow to look at its signal.
      context.signal.addEventListener('abort', () => {
        if (!replied) reply(abortedError(context.signal));
      });
      const work = parse(method, call, context)
        .then(serve)
        .then(({ message, header, trailer }) => {
          const bytes = encoded?.message === message ? encoded.bytes : toBinary(method.output, message);
          const [headers, trailers] = [toMetadata(header), toMetadata(trailer)];
          call.sendMetadata(headers);
          reply(null, bytes, trailers);
        })
        .catch((error: unknown) => reply(context.signal.aborted ? abortedError(context.signal) : safe(error)))
        .finally(() => {
          context.end();
          this.#running.delete(work);
        });
      this.#running.add(work);
    };
  }
}

async function parse(
  method: DescMethodUnary,
  call: ServerUnaryCall<Buffer, Uint8Array>,
  context: HandlerContext,
): Promise<UnaryRequest> {
  let message;
  try {
    message = fromBinary(method.input, call.request);
  } catch (cause) {
    throw commonError('INVALID_REQUEST', `the bytes sent are not a ${method.input.typeName}`, { cause });
  }
  return {
    stream: false,
    service: method.parent,
    method,
    requestMethod: context.requestMethod,
    url: context.url,
    signal: context.signal,
    header: context.requestHeader,
    contextValues: context.values,
    message,
  };
}

function safe(error: unknown): ConnectError {
  return error instanceof ConnectError ? error : commonError('INTERNAL', 'internal error', { cause: error });
}

function statusOf(error: ConnectError): StatusObject {
  try {
    return toGrpcStatus(error);
  } catch (cause) {
    return toGrpcStatus(commonError('INTERNAL', 'internal error', { cause }));
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function identity<T>(bytes: T): T {
  return bytes;
}
