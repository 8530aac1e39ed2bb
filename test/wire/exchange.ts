import { fromBinary } from '@bufbuild/protobuf';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import type { Code } from '@connectrpc/connect';
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import { ErrorInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { ERROR_DOMAIN } from '../../runtime/rpc/errors.ts';

/** What came back for a request, whatever was sent. */
export interface Answer {
  /** Of HTTP; undefined when the stream was reset, or its connection ended, before an answer. */
  http: number | undefined;
  /** Of gRPC, or of Connect by its name. */
  code: Code | undefined;
  message: string;
  /** Of this system's ErrorInfo. */
  reason: string | undefined;
  body: Buffer;
}

/** How a stream of HTTP/2 is sent: its headers, its bytes, and whether it ends. */
export interface Sent {
  path: string;
  headers?: Record<string, string | string[]>;
  body?: Uint8Array;
  /** Default true. */
  end?: boolean;
}

/** Sends whatever bytes as a gRPC call, on a connection of its own choice. Always comes to an end when the server does something. */
export function grpcExchange(session: ClientHttp2Session, { path, headers, body, end = true }: Sent): Promise<Answer> {
  return exchange(session, {
    path,
    headers: { 'content-type': 'application/grpc', te: 'trailers', 'x-user-id': '1', ...headers },
    body,
    end,
  }).then(({ got, body: bytes }) => {
    const code = got['grpc-status'] === undefined ? undefined : (Number(got['grpc-status']) as Code);
    return {
      http: got[':status'],
      code,
      message: decodeURIComponent(String(got['grpc-message'] ?? '')),
      reason: reasonIn(got['grpc-status-details-bin']),
      body: bytes,
    };
  });
}

/** Headers and trailers of the answer, and its body. */
export function exchange(
  session: ClientHttp2Session,
  {
    path,
    headers = {},
    body = new Uint8Array(),
    end = true,
  }: { [K in keyof Sent]: Sent[K] | undefined } & { path: string },
): Promise<{ got: IncomingHttpHeaders & { ':status'?: number }; body: Buffer }> {
  return new Promise((resolve) => {
    let got = {};
    const chunks: Buffer[] = [];
    const note = (received: object) => (got = { ...got, ...received });
    let stream;
    try {
      stream = session.request({ ':method': 'POST', ':path': path, ...headers }, { endStream: false });
    } catch {
      // Node itself refuses to send it.
      return resolve({ got, body: Buffer.alloc(0) });
    }
    stream.on('response', note).on('trailers', note);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', () => undefined).on('close', () => resolve({ got, body: Buffer.concat(chunks) }));
    if (end) stream.end(body);
    else stream.write(body);
  });
}

/** A message as gRPC frames it. What it says of itself need not be true. */
export function frame(message: Uint8Array, { flag = 0, length = message.length } = {}): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flag;
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, message]);
}

function reasonIn(details: unknown): string | undefined {
  if (typeof details !== 'string') return undefined;
  const status = fromBinary(StatusSchema, Buffer.from(details, 'base64'));
  const infos = status.details.map((any) => anyUnpack(any, ErrorInfoSchema));
  return infos.find((info) => info?.domain === ERROR_DOMAIN)?.reason;
}
