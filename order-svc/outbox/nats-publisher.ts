import { jetstream, type JetStreamClient, JetStreamApiError } from '@nats-io/jetstream';
import {
  AuthorizationError,
  connect,
  InvalidArgumentError,
  type NatsConnection,
  NoRespondersError,
} from '@nats-io/transport-node';
import { Loop } from '../../runtime/lifecycle/loop.ts';
import type { Logger } from '../../runtime/lifecycle/logger.ts';
import type { NatsAddress } from '../../runtime/nats-url.ts';
import type { LeasedEvent } from '../db/events.ts';
import { type EventFormat, eventMessage } from './cloud-event.ts';
import { prepareStream, WrongStreamError } from './event-stream.ts';
import { AwayError, type Publisher } from './publisher.ts';

/** Milliseconds: to connect, and for the broker to say that it has an event. Longer is an outage. */
const ANSWER_MS = 5_000;
/** Milliseconds between two attempts to get an answer. */
const RETRY_MS = 500;
// https://github.com/nats-io/nats-server/blob/main/server/errors.json
const MESSAGE_TOO_LARGE = 10054;

/**
 * Publishes to a stream of NATS JetStream. An event is published when the broker has said that it has it; the broker drops one whose
 * event_id it knows. However long the broker is away, this goes on looking for it.
 */
export class NatsPublisher implements Publisher {
  readonly #address: NatsAddress;
  readonly #format: EventFormat;
  readonly #logger: Logger;
  readonly #loop: Loop;
  /** What to tell those who wait for an answer when none will come. */
  readonly #waiting = new Set<(lost: AwayError) => void>();
  #connection: NatsConnection | undefined;
  #jetstream: JetStreamClient | undefined;
  #connected = false;
  #ready = false;
  #onReady: () => void = () => {};
  #complaint = '';

  constructor(address: NatsAddress, format: EventFormat, logger: Logger) {
    this.#address = address;
    this.#format = format;
    this.#logger = logger;
    this.#loop = new Loop({ name: 'broker', intervalMs: RETRY_MS, runOnce: () => this.#retry(), logger });
  }

  /** @throws WrongStreamError, or the client's AuthorizationError. */
  async start(onReady: () => void): Promise<void> {
    this.#onReady = onReady;
    await this.#prepare().catch((error: unknown) => {
      if (error instanceof WrongStreamError || error instanceof AuthorizationError) throw error;
      this.#complain(error);
    });
    this.#loop.start();
  }

  isReady(): boolean {
    return this.#ready;
  }

  async publish(event: LeasedEvent): Promise<void> {
    const { subject, data, headers } = eventMessage(event, this.#format);
    if (!this.#ready) throw new AwayError('the broker is away');
    const options = { headers, msgID: event.eventId, timeout: ANSWER_MS };
    try {
      await this.#unlessLost(this.#jetstream!.publish(subject, data, options));
    } catch (error) {
      if (isItsOwnFault(error)) throw error;
      // Nobody listens on the subject: the stream is gone, or is not up yet after a restart.
      if (hasNoResponder(error)) this.#lose('the stream is gone');
      throw error instanceof AwayError ? error : new AwayError('the broker did not take the event', { cause: error });
    }
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#ready = false;
    await this.#connection?.close();
  }

  async #retry(): Promise<boolean> {
    if (!this.#ready) await this.#prepare().catch((error: unknown) => this.#complain(error));
    return false;
  }

  /** Gets a connection and sees to the stream. While the client is reconnecting there is nothing to do. */
  async #prepare(): Promise<void> {
    if (!this.#connection || this.#connection.isClosed()) await this.#connect();
    if (!this.#connected) return;
    await this.#unlessLost(prepareStream(this.#connection!));
    this.#ready = true;
    this.#complaint = '';
    this.#logger.info({ broker: this.#connection!.getServer() }, 'events can be published');
    this.#onReady();
  }

  async #connect(): Promise<void> {
    const connection = await connect({
      ...this.#address,
      name: 'order-svc',
      timeout: ANSWER_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RETRY_MS,
      ignoreAuthErrorAbort: true,
      // A broker that has gone without a word is found out after three of these.
      pingInterval: 5_000,
      noAsyncTraces: true,
    });
    this.#connection = connection;
    this.#jetstream = jetstream(connection);
    this.#connected = true;
    void this.#watch(connection);
  }

  async #watch(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'reconnect') {
        this.#connected = true;
        this.#loop.wake();
      } else if (type === 'disconnect' || type === 'close') {
        this.#connected = false;
        this.#lose('the broker is away');
      }
    }
  }

  /** An answer, or an AwayError as soon as it is clear that there will be none. */
  async #unlessLost<T>(answer: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    this.#waiting.add(reject);
    try {
      return await Promise.race([answer, promise]);
    } finally {
      this.#waiting.delete(reject);
    }
  }

  /** Nothing can be published until the stream has been seen again. */
  #lose(why: string): void {
    if (this.#ready) this.#logger.warn(`${why}: events wait`);
    this.#ready = false;
    for (const reject of this.#waiting) reject(new AwayError(why));
    this.#loop.wake();
  }

  /** Says why events cannot be published, once. */
  #complain(err: unknown): void {
    const { name, message } = err as Error;
    if (this.#complaint !== name + message) {
      if (err instanceof WrongStreamError) this.#logger.error({ err }, 'events cannot be published: they wait');
      else this.#logger.warn({ err }, 'the broker is away: events wait');
    }
    this.#complaint = name + message;
  }
}

function isItsOwnFault(error: unknown): boolean {
  return (
    error instanceof InvalidArgumentError || (error instanceof JetStreamApiError && error.code === MESSAGE_TOO_LARGE)
  );
}

function hasNoResponder(error: unknown): boolean {
  return error instanceof Error && (error.cause instanceof NoRespondersError || hasNoResponder(error.cause));
}
