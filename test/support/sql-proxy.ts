import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** What happens to a statement that a rule matches. */
type Action = (forward: () => void, cut: () => void, client: Socket, upstream: Socket) => void;

interface Rule {
  readonly pattern: RegExp;
  readonly reached: () => void;
  readonly act: Action;
}

/** A statement that stands still on its way to the server. */
export interface Held {
  /** Resolves when the statement has been sent by the client. */
  readonly reached: Promise<void>;
  /** Lets it go on. */
  release(): void;
}

/**
 * Stands between a service and its database on a real socket, and stops, delays or loses what the service says there. Each rule
 * applies to the next statement that it matches, once. The client sends its statements as text, one packet each.
 */
export class SqlProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #held: Held[] = [];
  #rules: Rule[] = [];
  #refusing = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** A proxy to the server that a database URL names. */
  static async to(databaseUrl: string): Promise<SqlProxy & { url: string }> {
    const target = new URL(databaseUrl);
    const server = createServer({ noDelay: true });
    const proxy = new SqlProxy(server);
    server.on('connection', (client) => proxy.#join(client, target));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    return Object.assign(proxy, { url: url.href });
  }

  /** Stops the next statement that matches, before the server sees it. */
  hold(pattern: RegExp): Held {
    const gate = Promise.withResolvers<void>();
    const reached = this.#add(pattern, (forward) => void gate.promise.then(forward));
    const held = { reached, release: gate.resolve };
    this.#held.push(held);
    return held;
  }

  /** Loses the connection at the next statement that matches: the server never sees it. */
  cutBefore(pattern: RegExp): Promise<void> {
    return this.#add(pattern, (_forward, cut) => cut());
  }

  /**
   * Loses the connection after the server has carried out the next statement that matches: its answer reaches nobody. Resolves then.
   */
  cutAfter(pattern: RegExp): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    void this.#add(pattern, (forward, cut, client, upstream) => {
      swallowAnswer(upstream, client, () => {
        cut();
        resolve();
      });
      forward();
    });
    return promise;
  }

  /**
   * Loses the client's connection at the next statement that matches, which goes on to the server when it is released. `done` resolves
   * when the server has carried it out.
   */
  orphan(pattern: RegExp): Held & { readonly done: Promise<void> } {
    const gate = Promise.withResolvers<void>();
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const reached = this.#add(pattern, (forward, _cut, client, upstream) => {
      client.removeAllListeners('close');
      client.destroy();
      swallowAnswer(upstream, client, resolve);
      void gate.promise.then(forward);
    });
    const held = { reached, release: gate.resolve, done };
    this.#held.push(held);
    return held;
  }

  /** Resolves when the next statement that matches passes by. */
  seen(pattern: RegExp): Promise<void> {
    return this.#add(pattern, (forward) => forward());
  }

  /** Drops the rules that no statement has matched yet. */
  forget(): void {
    this.#rules = [];
  }

  /** As if the database were away: what is connected is cut off, and nobody gets in until `allow`. */
  refuse(): void {
    this.#refusing = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** The database is back. */
  allow(): void {
    this.#refusing = false;
  }

  async close(): Promise<void> {
    for (const held of this.#held) held.release();
    this.#rules = [];
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #add(pattern: RegExp, act: Action): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#rules.push({ pattern, reached: resolve, act });
    return promise;
  }

  #join(client: Socket, target: URL): void {
    if (this.#refusing) {
      client.destroy();
      return;
    }
    const upstream = connect({ host: target.hostname, port: Number(target.port), noDelay: true });
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.#sockets.delete(socket));
    }
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    upstream.pipe(client);
    const cut = () => {
      client.destroy();
      upstream.destroy();
    };
    client.on('data', (chunk) => {
      const forward = () => void (upstream.destroyed || upstream.write(chunk));
      const text = chunk.toString('latin1');
      const rule = this.#rules.find(({ pattern }) => pattern.test(text));
      if (!rule) return forward();
      this.#rules = this.#rules.filter((one) => one !== rule);
      rule.reached();
      rule.act(forward, cut, client, upstream);
    });
  }
}

/** Keeps what the server answers from the client. Calls back when the answer is whole. */
function swallowAnswer(upstream: Socket, client: Socket, then: () => void): void {
  upstream.unpipe(client);
  let answer = Buffer.alloc(0);
  upstream.on('data', (chunk: Buffer) => {
    answer = Buffer.concat([answer, chunk]);
    if (isWhole(answer)) then();
  });
  upstream.resume();
}

const MORE_RESULTS = 0x08;

/**
 * Whether an answer is whole: its last packet says that no other result follows. What another protocol answers is taken as it comes.
 *
 * @see https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_response_packets.html
 */
function isWhole(answer: Buffer): boolean {
  const isFirstPacket = answer[3] === 1;
  if (!isFirstPacket) return true;
  let last = answer.subarray(0, 0);
  for (let at = 0; at + 4 <= answer.length; at += 4 + last.length) {
    last = answer.subarray(at + 4, at + 4 + answer.readUIntLE(at, 3));
  }
  if (last[0] === 0xff) return true;
  // The counts of an OK are below 251 here, and one byte each.
  const flags = last[0] === 0x00 ? last[3] : last[0] === 0xfe ? last[3] : undefined;
  return flags !== undefined && (flags & MORE_RESULTS) === 0;
}
