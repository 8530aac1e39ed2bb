import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { Broker } from '../../dev/broker/start-broker.ts';
import { NotHereError } from '../../dev/database/server-program.ts';
import { EVENT_STREAM } from '../../order-svc/outbox/event-stream.ts';
import { readNatsUrl } from '../../runtime/nats-url.ts';

/** Why this machine has no broker, once that has been found out. */
let missing: string | undefined;

/**
 * A NATS server for the suite that calls this, there from `before` on. Where there is none to be had its tests are pending; what the
 * suite starts itself before that is to be asked for before this.
 */
export function useBroker(): { readonly broker: Broker } {
  let broker: Broker | undefined;
  before(async function () {
    this.timeout(120_000);
    if (missing === undefined) {
      try {
        broker = await Broker.start({ log: (line) => process.stderr.write(`${line}\n`) });
        return;
      } catch (error) {
        if (!(error instanceof NotHereError)) throw error;
        missing = error.message;
        process.stderr.write(`tests that need a NATS server are left out: ${missing}\n`);
      }
    }
    this.skip();
  });
  after(() => broker?.stop());
  return {
    get broker() {
      return broker!;
    },
  };
}

/** An event as the stream has it. */
export interface StoredEvent {
  readonly subject: string;
  /** Its headers; those that begin with `Nats-` are the broker's. */
  readonly headers: Record<string, string>;
  readonly data: Uint8Array;
  /** Its `ce-id`. */
  readonly id: string;
}

/** All that is in the stream of events, in order. */
export async function storedEvents(url: string): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  await withBroker(url, async (connection) => {
    const jsm = await jetstreamManager(connection);
    const { messages, last_seq: last } = (await jsm.streams.info(EVENT_STREAM)).state;
    if (messages === 0) return;
    const consumer = await jetstream(connection).consumers.get(EVENT_STREAM);
    for await (const message of await consumer.consume()) {
      const { subject, data, headers } = message;
      const entries = (headers?.keys() ?? []).map((key) => [key, headers!.get(key)] as const);
      events.push({ subject, headers: Object.fromEntries(entries), data, id: headers?.get('ce-id') ?? '' });
      if (message.seq === last) break;
    }
  });
  return events;
}

/** Removes the stream of events, with all that is in it. */
export async function removeStream(url: string): Promise<void> {
  await withBroker(url, async (connection) => {
    const jsm = await jetstreamManager(connection);
    await jsm.streams.delete(EVENT_STREAM).catch(() => false);
  });
}

/** Does something on a connection of its own. */
export async function withBroker(url: string, work: (connection: NatsConnection) => Promise<unknown>): Promise<void> {
  const connection = await connect(readNatsUrl(url));
  try {
    await work(connection);
  } finally {
    await connection.close();
  }
}
