import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { ConnectError } from '@connectrpc/connect';
import type { Server } from '@grpc/grpc-js';
import { dropLongTimeout } from './deadline.ts';
import { safeError, safeStatus } from './status.ts';

/** Takes a place for a call of the method with this path, and returns what gives it back. Undefined: it needs none. */
export type Enter = (path: string) => (() => void) | undefined;

/** What gives back the places that are held for streams. */
const held = new WeakMap<ServerHttp2Stream, () => void>();

/**
 * Lets a server of grpc-js refuse a call by its headers alone: with what `enter` throws, before grpc-js makes anything of it or reads its
 * message, which would be most of what a refusal costs. A call that is let in holds its place until somebody takes it over (`takePlace`),
 * or its stream is closed. A deadline that grpc-js cannot count is taken away.
 */
export function readHeadersFirst(server: Server, enter: Enter): void {
  // Private in grpc-js: its interceptors come when half of the work is done.
  const inner = server as unknown as { _channelzHandler: StreamHandler };
  const serve = inner._channelzHandler.bind(server);
  inner._channelzHandler = (interceptors, stream, headers) => {
    try {
      // What has gone already, and what is no gRPC, does not come to a handler.
      if (!stream.destroyed && !stream.closed && isGrpc(headers)) hold(stream, enter(headers[':path'] ?? ''));
    } catch (error) {
      return refuse(stream, safeError(error));
    }
    dropLongTimeout(headers);
    serve(interceptors, stream, headers);
  };
}

type StreamHandler = (interceptors: unknown, stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

/**
 * Takes over the place of a stream. Who gets what gives it back has to call it, once. Undefined: another one has it, or there is none.
 */
export function takePlace(stream: ServerHttp2Stream): (() => void) | undefined {
  const leave = held.get(stream);
  held.delete(stream);
  return leave;
}

function hold(stream: ServerHttp2Stream, leave: (() => void) | undefined): void {
  if (!leave) return;
  held.set(stream, leave);
  stream.once('close', () => takePlace(stream)?.());
}

/**
 * A stream lasts until both sides have ended it. When a call is refused, whatever its caller has still to send is not waited for.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9113#section-8.1 RST_STREAM with NO_ERROR after a complete answer
 */
export function endStreamAfterwards(stream: ServerHttp2Stream): void {
  if (stream.readableEnded || stream.headersSent) return;
  setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR));
}

function isGrpc(headers: IncomingHttpHeaders): boolean {
  return headers['content-type']?.startsWith('application/grpc') ?? false;
}

function refuse(stream: ServerHttp2Stream, error: ConnectError): void {
  // Nobody is told, and whoever is gone needs no answer.
  stream.on('error', () => undefined);
  endStreamAfterwards(stream);
  stream.respond(trailersOnly(error), { endStream: true });
  stream.resume();
}

/** https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md: an answer that is a status alone. */
function trailersOnly(error: ConnectError): OutgoingHttpHeaders {
  let headers = answers.get(error);
  if (!headers) {
    const { code, details, metadata } = safeStatus(error);
    headers = {
      ':status': 200,
      'content-type': 'application/grpc+proto',
      'grpc-status': code,
      'grpc-message': encodeURI(details),
      ...metadata.toHttp2Headers(),
    };
    answers.set(error, headers);
  }
  return headers;
}

/** Errors that are thrown again and again, as a bound does, are written once. */
const answers = new WeakMap<ConnectError, OutgoingHttpHeaders>();
