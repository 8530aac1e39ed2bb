import { createServer as createHttp1, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  constants,
  createServer as createHttp2,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import { createServer as createHttps, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { universalResponseToNodeResponse } from '@connectrpc/connect-node';
import type { UniversalServerResponse } from '@connectrpc/connect/protocol';
import { type DoorTls, doorTlsOptions } from '../tls.ts';
import { endWhenIdle } from './end-when-idle.ts';
import { tellProtocol } from './tell-protocol.ts';

export type HttpRequest = IncomingMessage | Http2ServerRequest;
export type HttpResponse = ServerResponse | Http2ServerResponse;

/** The answer to a request. The response is there to be watched, not to be written. */
export type Answerer = (request: HttpRequest, response: HttpResponse) => Promise<UniversalServerResponse>;

/** How long a server waits for its clients, and how much it takes of them. Milliseconds and bytes. */
export interface HttpLimits {
  /** For the header of a request, and for a connection's first bytes. Default 10,000. */
  headerMs: number;
  /** For a whole request to arrive, and for the client to take its whole answer. Default 30,000. */
  requestMs: number;
  /** For the next request on a connection that is kept open. Default 65,000: a proxy in front, mostly at 60 s, closes first. */
  idleMs: number;
  /** For a request's header, its path included. Default 16 KiB. */
  maxHeaderBytes: number;
}

const ALPNProtocols = ['h2', 'http/1.1'];
const STREAMS_OF_ONE_CONNECTION = 100;
const SWEEP_MS = 50;

/**
 * HTTP/1.1 and HTTP/2 on one port: told apart by ALPN with TLS, and without it by the first bytes, which in HTTP/2 with prior
 * knowledge are no HTTP/1.1. A client that is slow, or silent, is cut off.
 */
export class HttpServer {
  readonly #answer: Answerer;
  readonly #limits: HttpLimits;
  readonly #http2: Http2Server;
  /** The one that listens: it hands connections that speak HTTP/2 to the other. */
  #http1: Server | HttpsServer | undefined;
  #closed: Promise<unknown> = Promise.resolve();
  /** Connections that have not told yet what they speak. */
  readonly #unknown = new Map<string, Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  /** Of the sessions, and of those that have ended and wait for their client to end the connection. */
  readonly #http2Sockets = new Set<Socket>();

  constructor(answer: Answerer, limits: Partial<HttpLimits> = {}) {
    this.#answer = answer;
    this.#limits = { headerMs: 10_000, requestMs: 30_000, idleMs: 65_000, maxHeaderBytes: 16 * 1024, ...limits };
    const settings = { maxConcurrentStreams: STREAMS_OF_ONE_CONNECTION };
    this.#http2 = createHttp2({ settings }, (request, response) => void this.#serve(request, response));
    this.#http2.on('session', (session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
      endWhenIdle(session, this.#limits);
    });
  }

  /** Listens on `host:port`, port 0 for a free one. Returns the address it got. Fails when the port is taken. */
  async listen(address: string, tls?: DoorTls): Promise<string> {
    const { headerMs, requestMs, idleMs, maxHeaderBytes } = this.#limits;
    const options = {
      headersTimeout: Math.min(headerMs, requestMs),
      requestTimeout: requestMs,
      keepAliveTimeout: idleMs,
      connectionsCheckingInterval: Math.min(1000, headerMs),
      maxHeaderSize: maxHeaderBytes,
    };
    const serve = (request: IncomingMessage, response: ServerResponse) => void this.#serve(request, response);
    const http1 = tls
      ? createHttps({ ...options, ...doorTlsOptions(tls), handshakeTimeout: headerMs, ALPNProtocols }, serve)
      : createHttp1(options, serve);
    // For new connections; those that are there go on.
    tls?.files.onChange((pems) => (http1 as HttpsServer).setSecureContext(pems));
    const event = tls ? 'secureConnection' : 'connection';
    const [serveHttp1] = http1.listeners(event) as [(this: Server, socket: Socket) => void];
    const hand = (socket: Socket, isHttp2: boolean) => {
      this.#unknown.delete(nameOf(socket));
      if (isHttp2) this.#serveHttp2(socket);
      else serveHttp1.call(http1, socket.resume());
    };
    http1.off(event, serveHttp1);
    http1.on('connection', (socket: Socket) => this.#expect(socket));
    if (tls) http1.on(event, (socket: TLSSocket) => hand(socket, socket.alpnProtocol === 'h2'));
    else http1.on(event, (socket: Socket) => tellProtocol(socket, headerMs, hand));

    const [, host, port] = /^\[?(.+?)\]?:(\d+)$/.exec(address) ?? [];
    await new Promise<void>((resolve, reject) => {
      // It stays, for a connection that could not be accepted: the next one may be.
      http1.on('error', reject).listen({ host, port: Number(port) }, resolve);
    });
    this.#http1 = http1;
    this.#closed = new Promise((resolve) => http1.once('close', resolve));
    return address.replace(/:\d+$/, `:${(http1.address() as AddressInfo).port}`);
  }

  /** Takes no new connection, and ends those that have nothing in work. Resolves when the last one has ended. */
  async drain(): Promise<void> {
    for (const socket of this.#unknown.values()) socket.destroy();
    for (const session of this.#sessions) session.close();
    // Ends those of HTTP/1.1 that are kept open, now, and when an answer has gone out that did not say yet that it is the last.
    this.#http1?.close();
    const timer = setInterval(() => this.#http1?.closeIdleConnections(), SWEEP_MS);
    await this.#closed;
    clearInterval(timer);
  }

  /** Ends every connection, whatever is in work on it. */
  cutOff(): void {
    this.#http1?.closeAllConnections();
    for (const socket of this.#http2Sockets) socket.destroy();
  }

  #serveHttp2(socket: Socket): void {
    this.#http2Sockets.add(socket);
    socket.once('close', () => this.#http2Sockets.delete(socket));
    // HTTP/1.1 alone may be half closed. HTTP/2 would stay, and wait for nothing.
    this.#http2.emit('connection', Object.assign(socket, { allowHalfOpen: false }));
  }

  async #serve(request: HttpRequest, response: HttpResponse): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let gone = false;
    request.on('error', ignore);
    response.on('error', ignore);
    response.once('close', () => {
      gone = true;
      clearTimeout(timer);
    });
    try {
      // node:http has looked itself. HTTP/2 would let more in until the client has agreed to a limit.
      const tooLong = lengthOf(request.rawHeaders) > this.#limits.maxHeaderBytes;
      const answer = tooLong ? { status: 431 } : await this.#answer(request, response);
      if (gone) return;
      timer = setTimeout(() => cutOff(response), this.#limits.requestMs);
      await universalResponseToNodeResponse(answer, response);
    } catch {
      // The client has gone, who needs no answer, or there is none that can be sent.
      cutOff(response);
    }
  }

  #expect(socket: Socket): void {
    const name = nameOf(socket);
    this.#unknown.set(name, socket);
    socket.once('close', () => this.#unknown.delete(name));
  }
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0);
}

function cutOff(response: HttpResponse): void {
  if ('stream' in response) response.stream.close(constants.NGHTTP2_CANCEL);
  else response.destroy();
}

/** The same for a connection and for the TLS on it. */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function ignore(): void {
  // The client has gone: the response's `close` says so too.
}
