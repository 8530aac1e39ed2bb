import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Stands between a client and a server, and can fall silent: both ends then take the other for connected, and hear nothing. */
export class Relay {
  readonly #server: Server;
  readonly #pairs: [client: Socket, upstream: Socket][] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async to(address: string): Promise<Relay> {
    const [host, port] = address.split(':');
    const server = createServer({ noDelay: true });
    const relay = new Relay(server);
    server.on('connection', (client) => {
      const upstream = connect({ host: host!, port: Number(port), noDelay: true });
      relay.#pairs.push([client, upstream]);
      for (const socket of [client, upstream]) socket.on('error', () => {});
      client.pipe(upstream);
      upstream.pipe(client);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return relay;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many connections were made so far. */
  get connections(): number {
    return this.#pairs.length;
  }

  /** Passes nothing on any more on the connections that there are. Resolves when a server has given one of them up. */
  async fallSilent(): Promise<void> {
    const closed = this.#pairs.map(([client, upstream]) => {
      client.unpipe(upstream).pause();
      upstream.unpipe(client).resume();
      return once(upstream, 'close');
    });
    await Promise.race(closed);
  }

  async close(): Promise<void> {
    for (const socket of this.#pairs.flat()) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
