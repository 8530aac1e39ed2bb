import type { DescMethod, DescMethodUnary, DescService } from '@bufbuild/protobuf';
import type { Interceptor, ServiceImpl } from '@connectrpc/connect';
import { Server, type UntypedHandleCall, type UntypedServiceImplementation } from '@grpc/grpc-js';
import { type ConnectionOptions, serverConnections } from './connections.ts';
import { deadlineOf, type Deadlines } from './deadline.ts';
import { serverCredentials } from './grpc-credentials.ts';
import { grpcGuard, keepHeadersUnlogged } from './grpc-guard.ts';
import type { Admission } from './overload.ts';
import { serveStream, type StreamCall, type StreamImpl, type StreamMethod } from './serve-stream.ts';
import { serveUnary, type UnaryCall, type UnaryCallback, type UnaryImpl } from './serve-unary.ts';
import { safeError, safeStatus } from './status.ts';
import { streamOfCall } from './stream-of-call.ts';
import { type Enter, readHeadersFirst, takePlace } from './stream-places.ts';
import type { DoorTls } from './tls.ts';

/** How a host serves. Times in milliseconds. */
export interface HostOptions extends ConnectionOptions {
  /**
   * Outermost first. They must turn every error into a ConnectError that may be sent. They may put another message in the place of
   * an answer's, but not change it: it is encoded already, so that what cannot be encoded is an error that they see.
   */
  interceptors: Interceptor[];
  /** One for all methods, or that of each, as `deadlinesOf` says. */
  deadline: Deadlines;
  /** What is let in. What is not is refused by its headers alone, before its message is read. Default: everything. */
  admission?: Admission;
  /** Longest request that is taken, in bytes; a longer one is RESOURCE_EXHAUSTED. Default 1 MiB. */
  maxMessageBytes?: number;
  /** For a whole request to arrive; a slower one is DEADLINE_EXCEEDED. Default 30 s. */
  requestMs?: number;
  /** Default: plain text. */
  tls?: DoorTls;
}

/** More than a service takes in work at once, so that what is over that is refused at once and does not wait here. */
const STREAMS_OF_ONE_CONNECTION = 1024;

/**
 * Serves Connect implementations on a gRPC port of grpc-js.
 *
 * A call ends at its deadline, or when its caller cancels, whatever its handler does; the handler is told by
 * `context.signal`, and `stop` waits for it.
 */
export class GrpcHost {
  readonly #server: Server;
  readonly #options: HostOptions;
  /** The methods that are bounded, by their path. */
  readonly #bounded = new Map<string, DescMethod>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();

  constructor(options: HostOptions) {
    this.#options = options;
    keepHeadersUnlogged();
    this.#server = new Server({
      'grpc.max_receive_message_length': options.maxMessageBytes ?? 1024 * 1024,
      'grpc.max_concurrent_streams': STREAMS_OF_ONE_CONNECTION,
      interceptors: [grpcGuard(options.requestMs ?? 30_000)],
      ...serverConnections(options),
    });
    readHeadersFirst(this.#server, this.#enter);
  }

  /**
   * Adds a service; a method that `impl` leaves out is answered UNIMPLEMENTED. Only methods that are unary can have interceptors.
   *
   * @param open nothing stands before it, no interceptor and no bound. Default: the host's.
   */
  add<S extends DescService>(service: S, impl: Partial<ServiceImpl<S>>, { open = false } = {}): void {
    const handlers: UntypedServiceImplementation = {};
    const definition: Record<string, object> = {};
    for (const method of service.methods) {
      const implementation = (impl as Record<string, UnaryImpl | undefined>)[method.localName]?.bind(impl);
      if (!implementation) continue;
      const path = `/${service.typeName}/${method.name}`;
      if (!open) this.#bounded.set(path, method);
      handlers[method.localName] = this.#handler(method, implementation, open ? [] : this.#options.interceptors, path);
      definition[method.localName] = {
        path,
        requestStream: method.methodKind === 'bidi_streaming',
        responseStream: method.methodKind !== 'unary',
        requestSerialize: identity,
        requestDeserialize: identity,
        responseSerialize: asBuffer,
        responseDeserialize: identity,
      };
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
    // Streams have no end of their own.
    this.#stopping.abort();
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#server.forceShutdown(), graceMs);
      this.#server.tryShutdown(() => {
        clearTimeout(timer);
        resolve();
      });
    });
    await Promise.all(this.#running);
  }

  #handler(method: DescMethod, impl: UnaryImpl, interceptors: Interceptor[], path: string): UntypedHandleCall {
    if (method.methodKind === 'unary') {
      const { deadline, tls } = this.#options;
      const own = deadlineOf(deadline, method);
      const served = { method: method as DescMethodUnary, impl, interceptors, deadline: own, tls };
      return (call: UnaryCall, callback: UnaryCallback) => {
        try {
          const stream = streamOfCall(call);
          const leave = (stream && takePlace(stream)) ?? this.#enter(path);
          this.#run(serveUnary(served, call, callback), leave);
        } catch (error) {
          callback(safeStatus(safeError(error)));
        }
      };
    }
    if (method.methodKind === 'client_streaming' || interceptors.length > 0)
      throw new Error(`${method.parent.typeName}.${method.name} is not unary`);
    const streamed = method as StreamMethod;
    return (call: StreamCall) => this.#run(serveStream(streamed, impl as StreamImpl, call, this.#stopping.signal));
  }

  readonly #enter: Enter = (path) => {
    const method = this.#bounded.get(path);
    return method && this.#options.admission?.enter(method);
  };

  #run(work: Promise<void>, leave?: () => void): void {
    const running = work.finally(() => {
      this.#running.delete(running);
      leave?.();
    });
    this.#running.add(running);
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function identity<T>(bytes: T): T {
  return bytes;
}
