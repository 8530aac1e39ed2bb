import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What a link does to what passes. Anything left out is as on a good network. */
export interface Weather {
  /** Milliseconds until a chunk goes on, both ways. */
  delayMs?: number;
  /** What the server says does not arrive: the work is done, the answer lost. */
  loseAnswers?: boolean;
  /** Nothing arrives either way, and nobody is told: a half-open connection. */
  silent?: boolean;
  /** New connections are refused, and those that are there are cut. */
  down?: boolean;
  /** 0 to 1: how likely a chunk's arrival cuts the connection. */
  resets?: number;
  /** Each new connection is cut after so many bytes from the client. */
  cutAfterBytes?: number;
  /** Each new connection is cut after so many bytes from the server. */
  cutAfterAnswerBytes?: number;
}

/** A TCP connection between two parties, under the test's hand. It listens on one port for good; the server behind it may change. */
export class TcpLink {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #random: () => number;
  #weather: Weather = {};
  #hits = 0;
  #target: { host: string; port: number } | undefined;

  private constructor(server: Server, random: () => number) {
    this.#server = server;
    this.#random = random;
  }

  static async open(random: () => number = Math.random): Promise<TcpLink> {
    const server = createServer({ noDelay: true });
    const link = new TcpLink(server, random);
    server.on('connection', (client) => link.#join(client));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return link;
  }

  /** Where clients connect: `127.0.0.1:port`. */
  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How often the weather lost, held or cut something: none means that a fault did not happen. */
  get hits(): number {
    return this.#hits;
  }

  /** The server that is behind it from now on: `host:port`. */
  leadTo(address: string): void {
    const [host, port] = address.split(':');
    this.#target = { host: host!, port: Number(port) };
  }

  /** Changes the weather, for what is connected too. None: good again. */
  turn(weather: Weather = {}): void {
    this.#weather = { ...weather };
    if (weather.down) this.cut();
  }

  /** Cuts what is connected. Returns how many connections those were. */
  cut(): number {
    const count = this.#pairs.size;
    for (const [client, upstream] of this.#pairs) {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    }
    return count;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket): void {
    client.on('error', () => {});
    if (this.#weather.down || !this.#target) {
      this.#hits++;
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ ...this.#target, noDelay: true });
    upstream.on('error', () => {});
    const pair = [client, upstream] as const;
    this.#pairs.add(pair);
    const { cutAfterBytes = Infinity, cutAfterAnswerBytes = Infinity } = this.#weather;
    const cut = () => {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    };
    client.on('close', () => {
      this.#pairs.delete(pair);
      upstream.destroy();
    });
    upstream.on('close', () => client.destroy());
    this.#carry({ from: client, to: upstream, isAnswer: false, bytes: cutAfterBytes, cut });
    this.#carry({ from: upstream, to: client, isAnswer: true, bytes: cutAfterAnswerBytes, cut });
  }

  #carry({ from, to, isAnswer, bytes, cut }: Carriage): void {
    let bytesLeft = bytes;
    // Bytes never overtake bytes, whatever the weather was when they came.
    const waiting: { chunk: Buffer; due: number }[] = [];
    const goOn = () => {
      while (waiting.length > 0 && waiting[0]!.due <= performance.now()) {
        const { chunk } = waiting.shift()!;
        if (to.writable) to.write(chunk);
      }
      if (waiting.length > 0) setTimeout(goOn, waiting[0]!.due - performance.now() + 1);
    };
    from.on('data', (chunk: Buffer) => {
      const { delayMs = 0, loseAnswers, silent, resets = 0 } = this.#weather;
      if (silent || (loseAnswers && isAnswer)) return void this.#hits++;
      if (resets > 0 && this.#random() < resets) {
        this.#hits++;
        return cut();
      }
      if (chunk.length >= bytesLeft) {
        this.#hits++;
        if (to.writable) to.write(chunk.subarray(0, bytesLeft));
        bytesLeft = 0;
        to.end(cut);
        return;
      }
      bytesLeft -= chunk.length;
      if (delayMs > 0) this.#hits++;
      if (delayMs === 0 && waiting.length === 0) return void to.write(chunk);
      const due = Math.max(performance.now() + delayMs, waiting.at(-1)?.due ?? 0);
      waiting.push({ chunk, due });
      if (waiting.length === 1) goOn();
    });
  }
}

/** A link to whoever a URL names, and the URL that leads over it. */
export async function linkTo(url: string, random: () => number): Promise<{ link: TcpLink; url: string }> {
  const link = await TcpLink.open(random);
  const behind = new URL(url);
  link.leadTo(behind.host);
  behind.host = link.address;
  return { link, url: behind.href };
}

interface Carriage {
  from: Socket;
  to: Socket;
  isAnswer: boolean;
  /** It is cut after so many. */
  bytes: number;
  cut: () => void;
}
