import type { DescMethodBiDiStreaming, DescMethodUnary, DescService } from '@bufbuild/protobuf';
import {
  createConnectRouter,
  type Interceptor,
  type MethodImpl,
  type ServiceImpl,
  type UnaryRequest,
} from '@connectrpc/connect';
import type { UniversalHandlerFn, UniversalServerResponse as Answer } from '@connectrpc/connect/protocol';
import { corsHeaders, isPreflight } from './http/cors.ts';
import { answerCall, closeAfter, type Rpc } from './http/answer-call.ts';
import { answerStream } from './http/answer-stream.ts';
import { bytesOf } from './http/form.ts';
import { type AnyImpl, callKey, implement, inTime, runCall } from './http/http-call.ts';
import { type HttpLimits, type HttpRequest, type HttpResponse, HttpServer } from './http/http-server.ts';
import { peerOfRequest } from './http/peer-of-request.ts';
import { compressions } from './http/read-message.ts';
import { deadlineOf, type Deadlines } from './deadline.ts';
import type { UnaryCall } from './interceptors.ts';
import type { DoorTls } from './tls.ts';

/** How a door serves. Times in milliseconds. */
export interface HttpDoorOptions {
  /** Outermost first. They must turn every error into a ConnectError that may be sent. */
  interceptors: Interceptor[];
  /** One for all methods, or that of each, as `deadlinesOf` says. */
  deadline: Deadlines;
  /** Longest message that is taken, in bytes, both as it is sent and unpacked. Default 1 MiB. */
  maxMessageBytes?: number;
  /** Origins whose pages may call from a browser, such as `https://shop.example`. Default: none. */
  corsOrigins?: readonly string[];
  /** What is missing to serve: `/readyz` lists it. Default: nothing. */
  notReady?: () => readonly string[];
  /** Default: plain text. */
  tls?: DoorTls;
  limits?: Partial<HttpLimits>;
}

// What is private to a user is nobody else's to keep, and a repeat wants to know what is true now.
const ALWAYS = {
  'cache-control': 'private, no-store',
  vary: 'origin, authorization, x-user-id, accept-encoding',
  'x-content-type-options': 'nosniff',
};

/**
 * Serves Connect implementations of unary methods over HTTP/1.1 and HTTP/2: Connect, as JSON or binary, by POST, and by GET where the
 * contract says NO_SIDE_EFFECTS; and gRPC-Web. Methods with streams only for tools (`addStreams`). `/healthz` answers while the process
 * does; `/readyz` when it should be called, else 503 with what is missing.
 *
 * The library is given each request with an empty message: the door reads the real one, so that whatever is wrong with it is an error
 * of the catalogue. A call ends at its deadline, or when its caller hangs up, whatever its handler does; the handler is told by
 * `context.signal`, and `stop` waits for it.
 */
export class HttpDoor {
  readonly #options: HttpDoorOptions;
  readonly #server: HttpServer;
  readonly #router = createConnectRouter({ grpc: false, acceptCompression: compressions });
  readonly #rpcs = new Map<string, Rpc>();
  readonly #streams = new Map<string, UniversalHandlerFn>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();

  constructor(options: HttpDoorOptions) {
    this.#options = options;
    this.#server = new HttpServer((request, response) => this.#answer(request, response), options.limits);
  }

  /** Adds a service. All of its methods must be unary; one that `impl` leaves out is answered UNIMPLEMENTED. */
  add<S extends DescService>(service: S, impl: Partial<ServiceImpl<S>>): void {
    const interceptors = [this.#run, ...this.#options.interceptors];
    for (const method of service.methods) {
      if (method.methodKind !== 'unary') throw new Error(`${service.typeName}.${method.name} is not unary`);
      const implementation = (impl as Record<string, AnyImpl | undefined>)[method.localName];
      if (!implementation) continue;
      const unary = method as DescMethodUnary;
      this.#router.rpc(unary, implement(unary, implementation.bind(impl)), { interceptors });
      const handle = this.#router.handlers.at(-1)!;
      this.#rpcs.set(handle.requestPath, { method: unary, handle });
    }
  }

  /** Adds a service whose methods all have streams in both directions. Nothing stands before it, no interceptor and no bound. */
  addStreams<S extends DescService>(service: S, impl: ServiceImpl<S>): void {
    for (const method of service.methods) {
      if (method.methodKind !== 'bidi_streaming')
        throw new Error(`${service.typeName}.${method.name} has no two streams`);
      const implementation = (impl as Record<string, MethodImpl<DescMethodBiDiStreaming>>)[method.localName]!;
      this.#router.rpc(method as DescMethodBiDiStreaming, implementation, {
        readMaxBytes: this.#options.maxMessageBytes ?? 1024 * 1024,
      });
      const handle = this.#router.handlers.at(-1)!;
      this.#streams.set(handle.requestPath, handle);
    }
  }

  /** Listens on `host:port`, port 0 for a free one. Returns the address it got. Fails when the port is taken. */
  listen(address: string): Promise<string> {
    return this.#server.listen(address, this.#options.tls);
  }

  /**
   * Takes no new call, waits for those in work, and ends. Calls that are not over after `graceMs` are cut off. Returns when
   * every handler has ended, also those that went on after their call (a compensation).
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    const timer = setTimeout(() => this.#server.cutOff(), graceMs);
    await this.#server.drain();
    clearTimeout(timer);
    await Promise.all(this.#running);
  }

  async #answer(request: HttpRequest, response: HttpResponse): Promise<Answer> {
    const answer = await this.#answerBy(request, response);
    const header = answer.header ?? new Headers();
    const always = { ...ALWAYS, ...corsHeaders(request, this.#options.corsOrigins ?? []) };
    for (const [name, value] of Object.entries(always)) header.set(name, value);
    if (this.#stopping.signal.aborted) closeAfter(request, header);
    return { ...answer, header };
  }

  async #answerBy(request: HttpRequest, response: HttpResponse): Promise<Answer> {
    const [path = ''] = request.url?.split('?', 1) ?? [];
    const rpc = this.#rpcs.get(path);
    if (isPreflight(request)) return { status: 204 };
    if (rpc) {
      const peer = peerOfRequest(request, this.#options.tls?.clientNames);
      const deadline = deadlineOf(this.#options.deadline, rpc.method);
      const terms = { ...this.#options, deadline, peer, stopping: this.#stopping.signal.aborted };
      return answerCall(rpc, request, response, terms);
    }
    const stream = this.#streams.get(path);
    if (stream) return answerStream(stream, request, response, this.#stopping.signal);
    if (path === '/healthz') return json(200, { alive: true });
    if (path === '/readyz') {
      const missing = this.#stopping.signal.aborted
        ? ['the process is shutting down']
        : (this.#options.notReady?.() ?? []);
      return json(missing.length > 0 ? 503 : 200, { ready: missing.length === 0, missing });
    }
    return json(404, { code: 'unimplemented', message: 'there is no such RPC' });
  }

  /** The outermost interceptor. */
  readonly #run: Interceptor = (next) => (request) => {
    const call = request.contextValues.get(callKey)!;
    const work = runCall(call, next as UnaryCall, request as UnaryRequest);
    const answer = inTime(work, call.deadline);
    const over = work
      .catch(() => undefined)
      .finally(() => {
        call.deadline.end();
        this.#running.delete(over);
      });
    this.#running.add(over);
    return answer;
  };
}

function json(status: number, value: object): Answer {
  const text = JSON.stringify(value);
  const header = new Headers({ 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) });
  return { status, header, body: bytesOf(text) };
}
