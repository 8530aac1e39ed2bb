import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

// https://www.rfc-editor.org/rfc/rfc9113#section-6
export const HEADERS = 1;
export const RST_STREAM = 3;
const SETTINGS = 4;
export const CONTINUATION = 9;
export const END_STREAM = 1;
export const END_HEADERS = 4;

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** A connection of HTTP/2 whose client sends whatever frames it likes. */
export class RawHttp2 {
  readonly socket: Socket;
  readonly closed: Promise<void>;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    socket.on('error', () => undefined).resume();
  }

  static async dial(address: string): Promise<RawHttp2> {
    const [host, port] = address.split(':');
    const socket = connect(Number(port), host);
    const raw = new RawHttp2(socket);
    await once(socket, 'connect');
    socket.write(PREFACE);
    await raw.send(SETTINGS, 0, 0);
    return raw;
  }

  /** Resolves when there is room for more, or the other side has closed. */
  async send(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): Promise<void> {
    const head = Buffer.alloc(9);
    head.writeUIntBE(payload.length, 0, 3);
    head[3] = type;
    head[4] = flags;
    head.writeUInt32BE(stream, 5);
    if (this.socket.destroyed || this.socket.write(Buffer.concat([head, payload]))) return;
    await Promise.race([once(this.socket, 'drain').catch(() => undefined), this.closed]);
  }
}

/** A block of header fields, each as it is: nothing is indexed, nothing is packed. */
export function headerBlock(fields: Record<string, string>): Buffer {
  return Buffer.concat(
    Object.entries(fields).flatMap(([name, value]) => [Buffer.of(0), lengthAndText(name), lengthAndText(value)]),
  );
}

// https://www.rfc-editor.org/rfc/rfc7541#section-5.1
function lengthAndText(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}
