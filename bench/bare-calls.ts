import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2';

/** How a call failed: its gRPC status. */
export class StatusError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(`${code} ${message}`);
    this.code = code;
  }
}

/**
 * gRPC calls on bare HTTP/2, for callers in such numbers that a whole gRPC client would take the machine away from what is measured. The
 * answer's message is not looked at.
 */
export class BareCalls {
  readonly #connections: BareConnection[];
  #next = 0;

  constructor(addresses: readonly string[]) {
    this.#connections = addresses.map((address) => new BareConnection(address));
  }

  async call(path: string, message: Uint8Array, userId: number): Promise<void> {
    const frame = Buffer.alloc(5 + message.length);
    frame.writeUInt32BE(message.length, 1);
    frame.set(message, 5);
    const headers = [
      ...[':method', 'POST', ':scheme', 'http', ':authority', 'bench', ':path', path],
      ...['content-type', 'application/grpc', 'te', 'trailers', 'grpc-timeout', '10S', 'x-user-id', String(userId)],
    ];
    const connection = this.#connections[this.#next++ % this.#connections.length]!;
    while (!(await connection.send(headers, frame)));
  }
}

/** A connection, and the next one when the server wants no more calls on it: those that it carries go on. */
class BareConnection {
  readonly #address: string;
  #session: ClientHttp2Session;

  constructor(address: string) {
    this.#address = address;
    this.#session = this.#connect();
  }

  /** False when the server has not looked at the call, since the connection ends: it has to be sent again. */
  send(headers: readonly string[], frame: Uint8Array): Promise<boolean> {
    if (this.#session.closed || this.#session.destroyed) this.#session = this.#connect();
    const session = this.#session;
    const stream = session.request(headers);
    return new Promise((resolve, reject) => {
      const end = ({ 'grpc-status': status, 'grpc-message': text }: IncomingHttpHeaders) => {
        if (status === '0') resolve(true);
        else if (status !== undefined) reject(new StatusError(Number(status), String(text)));
      };
      const fail = (error: Error) => {
        if (stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM) return reject(error);
        session.close();
        resolve(false);
      };
      stream.on('response', end).on('trailers', end).on('error', fail);
      stream.on('close', () => fail(new Error('the stream ended without a status')));
      stream.resume().end(frame);
    });
  }

  #connect(): ClientHttp2Session {
    const session = connect(`http://${this.#address}`);
    // Its streams say so themselves.
    return session.on('error', () => undefined).on('goaway', () => session.close());
  }
}
