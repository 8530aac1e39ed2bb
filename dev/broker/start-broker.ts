import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KeptCommand, keepRunning } from '../database/keep-running.ts';
import { freePort } from '../free-port.ts';
import { findNatsServer } from './find-nats-server.ts';

const startTimeoutMs = 20_000;

export interface BrokerOptions {
  /** More words for the server's command line, such as `--user` and `--pass`. */
  args?: readonly string[];
  /** Gets lines for people, such as 'downloading …'; by default they are dropped. */
  log?: (line: string) => void;
  /** Where `PATH` is read; by default `process.env`. */
  env?: NodeJS.ProcessEnv;
}

/** A NATS server of its own with JetStream: own data, own port on 127.0.0.1. It ends with this process, however that ends. */
export class Broker {
  /** `nats://127.0.0.1:PORT`. The same for ever. */
  readonly url: string;
  readonly #program: readonly string[];
  readonly #port: number;
  readonly #env: NodeJS.ProcessEnv;
  /** Holds the data, and goes with the first of the runs. */
  readonly #folder: string;
  readonly #runs: KeptCommand[] = [];

  private constructor(program: readonly string[], port: number, env: NodeJS.ProcessEnv) {
    this.url = `nats://127.0.0.1:${port}`;
    this.#program = program;
    this.#port = port;
    this.#env = env;
    this.#folder = join(env['TMPDIR'] || tmpdir(), `ordersystem-broker-${randomUUID()}`);
  }

  /** @throws NotHereError when this machine has no NATS server and no way to get one. */
  static async start({ args = [], log = () => undefined, env = process.env }: BrokerOptions = {}): Promise<Broker> {
    const program = await findNatsServer(env, log);
    const broker = new Broker([...program, ...args], await freePort(), env);
    await broker.startAgain();
    return broker;
  }

  /** Starts the server again after `kill`, with its data. */
  async startAgain(): Promise<void> {
    const run = this.#runs.length;
    const command = [
      ...[...this.#program, '--addr', '127.0.0.1', '--port', String(this.#port), '--pid', this.#pidFile(run)],
      ...['--jetstream', '--store_dir', join(this.#folder, 'data')],
    ];
    const server = keepRunning(run === 0 ? this.#folder : `${this.#folder}-${run}`, 'remove', command, this.#env);
    this.#runs.push(server);
    try {
      await waitUntilReady(server);
      server.unref();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** SIGKILL. Resolves when the server is gone. */
  async kill(): Promise<void> {
    const pid = Number(await readFile(this.#pidFile(this.#runs.length - 1), 'utf8'));
    process.kill(pid, 'SIGKILL');
    while (isRunning(pid)) await sleep(5);
  }

  /** Ends the server and removes its data. May be called again. */
  async stop(): Promise<void> {
    for (const server of this.#runs.toReversed()) await server.stop();
  }

  #pidFile(run: number): string {
    return join(this.#folder, `${run}.pid`);
  }
}

async function waitUntilReady(server: KeptCommand): Promise<void> {
  const ended = server.ended.then(async (status) => {
    throw new Error(`the NATS server ended (${status}): ${await server.readLog()}`);
  });
  // Nobody looks at it any more when the server is ready.
  ended.catch(() => undefined);
  for (const deadline = Date.now() + startTimeoutMs; Date.now() < deadline;) {
    await Promise.race([ended, sleep(10)]);
    if ((await server.readLog()).includes('Server is ready')) return;
  }
  throw new Error(`the NATS server was not ready after ${startTimeoutMs / 1000} s: ${await server.readLog()}`);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
