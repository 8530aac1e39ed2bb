import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2';

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
  readonly #sessions: ClientHttp2Session[];
  #next = 0;

  constructor(addresses: readonly string[]) {
    this.#sessions = addresses.map((address) => connect(`http://${address}`));
  }

  call(path: string, message: Uint8Array, userId: number): Promise<void> {
    const frame = Buffer.alloc(5 + message.length);
    frame.writeUInt32BE(message.length, 1);
    frame.set(message, 5);
    const stream = this.#sessions[this.#next++ % this.#sessions.length]!.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      'grpc-timeout': '10S',
      'x-user-id': String(userId),
    });
    return new Promise((resolve, reject) => {
      const end = ({ 'grpc-status': status, 'grpc-message': text }: IncomingHttpHeaders) => {
        if (status === '0') resolve();
        else if (status !== undefined) reject(new StatusError(Number(status), String(text)));
      };
      stream.on('response', end).on('trailers', end).on('error', reject);
      stream.on('close', () => reject(new Error('the stream ended without a status')));
      stream.resume().end(frame);
    });
  }
}
