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
  /** The next connection is cut after so many bytes from the client. */
  cutAfterBytes?: number;
}

/** A TCP connection between two parties, under the test's hand. It listens on one port for good; the server behind it may change. */
export class TcpLink {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  readonly #random: () => number;
  #weather: Weather = {};
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

  /** Cuts what is connected. */
  cut(): void {
    for (const [client, upstream] of this.#pairs) {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    }
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket): void {
    client.on('error', () => {});
    if (this.#weather.down || !this.#target) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect({ ...this.#target, noDelay: true });
    upstream.on('error', () => {});
    const pair = [client, upstream] as const;
    this.#pairs.add(pair);
    let bytesLeft = this.#weather.cutAfterBytes ?? Infinity;
    delete this.#weather.cutAfterBytes;
    const cut = () => {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    };
    client.on('close', () => {
      this.#pairs.delete(pair);
      upstream.destroy();
    });
    upstream.on('close', () => client.destroy());
    client.on('data', (chunk) => {
      const whole = chunk.length < bytesLeft;
      this.#pass(whole ? chunk : chunk.subarray(0, bytesLeft), upstream, false, cut);
      bytesLeft -= chunk.length;
      if (!whole) upstream.end(cut);
    });
    upstream.on('data', (chunk) => this.#pass(chunk, client, true, cut));
  }

  #pass(chunk: Buffer, to: Socket, isAnswer: boolean, cut: () => void): void {
    const { delayMs, loseAnswers, silent, resets = 0 } = this.#weather;
    if (silent || (loseAnswers && isAnswer)) return;
    if (resets > 0 && this.#random() < resets) return cut();
    if (delayMs === undefined) to.write(chunk);
    else setTimeout(() => to.writable && to.write(chunk), delayMs);
  }
}
