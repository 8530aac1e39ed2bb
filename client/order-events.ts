import { setTimeout as sleep } from 'node:timers/promises';
import { type ConsumerMessages, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { fullJitterMs } from '../runtime/lifecycle/backoff.ts';
import { createLogger, type Logger } from '../runtime/lifecycle/logger.ts';
import { type NatsAddress, readNatsUrl } from '../runtime/nats-url.ts';
import { type ArrivedEvent, arrivedEvent } from './order-events/arrived-event.ts';
import { batchesOf } from './order-events/batches-of.ts';
import { type Consumer, EventFailedError, type EventHandler, handleTogether } from './order-events/handle-together.ts';
import { startPlace } from './order-events/place.ts';
import { putAside, type Retried, retryDead } from './order-events/put-aside.ts';
import { createEventTables } from './order-events/tables.ts';

export { type OrderEvent, OrderEventType } from '../gen/ordersystem/order/v1/order_event_pb.ts';
export type { EventHandler };

/** What to consume, and how. */
export interface OrderEventsOptions extends Consumer {
  /** Where the broker is: `nats://user:password@host:port`, several separated by commas, or `tls://…`. */
  servers: string;
  /** How often an event is tried that its handler fails on, before it is put aside. Default 10, which takes some ten seconds. */
  maxAttempts?: number;
  /** Default: JSON lines on standard output. */
  logger?: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** The stream that order-svc publishes to. */
const STREAM = 'ORDER_EVENTS';
/** Events of one transaction. */
const BATCH_SIZE = 100;
const BACKOFF = { baseMs: 100, maxMs: 5_000 };
const MAX_ATTEMPTS = 10;
/** What the client says when its place at the broker is lost. */
const LOST = new Set([
  ...['heartbeats_missed', 'no_responders', 'stream_not_found', 'consumer_not_found', 'consumer_deleted'],
  ...['reset', 'ordered_consumer_recreated'],
]);

/**
 * Hands every event of every order to a handler, once, in the order of the stream, from the first that the stream has.
 *
 * The handler gets a transaction on the consumer's own database. The event's identity, and the consumer's place in the stream, are
 * written in the same transaction: what the handler does in it is done once, whatever is published twice, dies or is cut off. What it
 * does elsewhere may be done again. It must not end the transaction.
 *
 * While the broker or the database is away this waits, and goes on by itself. An event that the handler fails on is tried again, and
 * everything behind it waits; after `maxAttempts` it is put aside in `t_dead_event`, with an error in the log, and so is whatever else
 * happens to its order, until `retryDead`. Any number of processes may consume under one name: one works at a time.
 *
 * @throws RangeError when `servers` or `durable` is none.
 */
export function consumeOrderEvents(options: OrderEventsOptions): OrderEvents {
  return new OrderEvents(options);
}

/** A consumer at work. */
export class OrderEvents {
  readonly #options: OrderEventsOptions;
  readonly #address: NatsAddress;
  readonly #logger: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  #connection: NatsConnection | undefined;

  constructor(options: OrderEventsOptions) {
    const address = readNatsUrl(options.servers);
    if (!address) throw new RangeError('servers must be nats://user:password@host:port');
    if (!/^[\w.-]{1,64}$/.test(options.durable)) throw new RangeError('durable must be 1 to 64 of A-Z a-z 0-9 . _ -');
    this.#options = options;
    this.#address = address;
    this.#logger = options.logger ?? createLogger(options.durable, 'info');
    this.#running = this.#run();
  }

  /** Lets the transaction in work end, and begins no other. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#connection?.close();
    await this.#running;
  }

  /**
   * Handles once more what was put aside, oldest first, each event in a transaction of its own. One that fails again stays, with those
   * of its order behind it.
   */
  retryDead(): Promise<Retried> {
    return retryDead(this.#options);
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#stopping.signal.aborted; failures++) {
      try {
        await this.#consume(() => (failures = 0));
      } catch (err) {
        if (!this.#stopping.signal.aborted) this.#logger.warn({ err }, 'no events can be had now');
      }
      await this.#pause(failures);
    }
  }

  /** Handles events until the broker is lost. */
  async #consume(works: () => void): Promise<void> {
    await createEventTables(this.#options.db);
    const address = this.#address;
    const name = this.#options.durable;
    const connection = await connect({ ...address, name, timeout: 5_000, pingInterval: 5_000, reconnect: false });
    this.#connection = connection;
    try {
      const { stream, messages } = await this.#open(connection);
      try {
        for await (const batch of batchesOf(messages, BATCH_SIZE)) {
          if (this.#stopping.signal.aborted) break;
          await this.#handle(stream, batch.map(arrivedEvent));
          works();
        }
      } finally {
        // It has a timer, which a lost connection does not end.
        void messages.close();
      }
    } finally {
      await connection.close();
    }
  }

  /** The messages from the consumer's place on, and whose place that is. */
  async #open(connection: NatsConnection): Promise<{ stream: string; messages: ConsumerMessages }> {
    const { created: stream, state } = await (await jetstreamManager(connection)).streams.info(STREAM);
    const { seq } = await startPlace(this.#options.db, this.#options.durable, stream);
    if (seq > 0 && seq + 1 < state.first_seq) {
      this.#logger.error({ seq, first_seq: state.first_seq }, 'events are lost: the stream has dropped them unread');
    }
    const consumer = await jetstream(connection).consumers.get(STREAM, { opt_start_seq: seq + 1 });
    const messages = await consumer.consume({ max_messages: 5 * BATCH_SIZE, expires: 10_000 });
    void closeWhenLost(messages.status(), connection);
    this.#logger.info({ seq, last_seq: state.last_seq }, 'consuming events');
    return { stream, messages };
  }

  async #handle(stream: string, events: readonly ArrivedEvent[]): Promise<void> {
    if (events.length > 1) {
      try {
        return await handleTogether(this.#options, stream, events);
      } catch (error) {
        // All of it is rolled back: alone, each gets what is its own.
        if (!(error instanceof EventFailedError)) throw error;
      }
    }
    for (const event of events) await this.#handleAlone(stream, event);
  }

  async #handleAlone(stream: string, event: ArrivedEvent): Promise<void> {
    const { maxAttempts = MAX_ATTEMPTS } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await handleTogether(this.#options, stream, [event]);
      } catch (error) {
        if (!(error instanceof EventFailedError) || this.#stopping.signal.aborted) throw error;
        const line = { event_id: event.id, attempt, err: error.cause };
        if (attempt >= maxAttempts) {
          await putAside(this.#options, stream, event, error.cause);
          this.#logger.error(line, 'event was put aside in t_dead_event: a person has to look at it');
          return;
        }
        this.#logger.warn(line, 'event failed, will be tried again');
      }
      await this.#pause(attempt);
    }
  }

  async #pause(failures: number): Promise<void> {
    await sleep(fullJitterMs(failures, BACKOFF), undefined, { signal: this.#stopping.signal }).catch(() => {});
  }
}

async function closeWhenLost(status: AsyncIterable<{ type: string }>, connection: NatsConnection): Promise<void> {
  for await (const { type } of status) if (LOST.has(type)) await connection.close();
}
