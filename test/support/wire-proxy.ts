import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Stands between a caller and a server on a real socket, and keeps back or loses what the server answers, whatever the protocol. */
export class WireProxy {
  address = '';
  readonly #server: Server;
  readonly #pairs = new Set<{ client: Socket; upstream: Socket }>();
  #stalled = false;
  #refusing = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** A proxy to `host:port`. */
  static async to(target: string): Promise<WireProxy> {
    const [, host, port] = /^(.+):(\d+)$/.exec(target)!;
    const server = createServer({ noDelay: true });
    const proxy = new WireProxy(server);
    server.on('connection', (client) => proxy.#join(client, host!, Number(port)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    proxy.address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    return proxy;
  }

  /** Requests go on to the server, and no answer comes back until `resume`. */
  stall(): void {
    this.#stalled = true;
    for (const { client, upstream } of this.#pairs) upstream.unpipe(client);
  }

  /** What was kept back arrives, late. */
  resume(): void {
    this.#stalled = false;
    for (const { client, upstream } of this.#pairs) upstream.pipe(client);
  }

  /** Loses all connections, with whatever was kept back. New ones get through. */
  cut(): void {
    this.#stalled = false;
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
  }

  /** As if the server were away: what is connected is cut off, and nobody gets in until `allow`. */
  refuse(): void {
    this.#refusing = true;
    this.cut();
  }

  /** The server is back. */
  allow(): void {
    this.#refusing = false;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket, host: string, port: number): void {
    client.on('error', () => {});
    if (this.#refusing) {
      client.destroy();
      return;
    }
    const upstream = connect({ host, port, noDelay: true });
    const pair = { client, upstream };
    this.#pairs.add(pair);
    upstream.on('error', () => {});
    client.on('close', () => {
      this.#pairs.delete(pair);
      upstream.destroy();
    });
    upstream.on('close', () => client.destroy());
    client.pipe(upstream);
    if (!this.#stalled) upstream.pipe(client);
  }
}
