import {
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos, type NatsConnection } from '@nats-io/transport-node';
import { EVENT_SUBJECTS } from './cloud-event.ts';

/** The stream that events are kept in. */
export const EVENT_STREAM = 'ORDER_EVENTS';

/** How it is made when there is none. */
const newStream = {
  name: EVENT_STREAM,
  description: 'ordersystem.order.v1.OrderEvent',
  subjects: ['orders.events.>'],
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  max_age: nanos(14 * 24 * 3_600_000),
  // How long the broker knows an event_id that it has taken. A repeat that comes later stands in the stream twice.
  duplicate_window: nanos(120_000),
};

// https://github.com/nats-io/nats-server/blob/main/server/errors.json
const STREAM_NAME_IN_USE = 10058;
const STREAM_NOT_FOUND = 10059;
const SUBJECTS_OVERLAP = 10065;

/** The broker's streams are such that events cannot be kept: a person has to change them. */
export class WrongStreamError extends Error {
  override readonly name = 'WrongStreamError';
}

/**
 * Makes the stream when it is not there. One that is there is checked, and left as it is.
 *
 * @throws WrongStreamError; after any other error the broker could not tell now.
 */
export async function prepareStream(connection: NatsConnection): Promise<void> {
  const jsm = await jetstreamManager(connection, { checkAPI: false });
  const { subjects = [], no_ack: silent } = (await findStream(jsm)) ?? (await makeStream(jsm));
  if (!subjects.some((subject) => covers(subject, EVENT_SUBJECTS))) {
    const found = subjects.join(', ') || 'no subjects';
    throw new WrongStreamError(`the stream ${EVENT_STREAM} takes ${found}; it must take ${EVENT_SUBJECTS}`);
  }
  if (silent) throw new WrongStreamError(`the stream ${EVENT_STREAM} has no_ack: it would not say what it has taken`);
}

async function findStream(jsm: JetStreamManager): Promise<Partial<StreamConfig> | undefined> {
  try {
    return (await jsm.streams.info(EVENT_STREAM)).config;
  } catch (error) {
    if (apiCode(error) !== STREAM_NOT_FOUND) throw error;
    return undefined;
  }
}

async function makeStream(jsm: JetStreamManager): Promise<Partial<StreamConfig>> {
  try {
    return (await jsm.streams.add(newStream)).config;
  } catch (error) {
    if (apiCode(error) === SUBJECTS_OVERLAP) {
      const message = `another stream takes orders.events.*: ${EVENT_STREAM} cannot be made`;
      throw new WrongStreamError(message, { cause: error });
    }
    // Somebody else has made it meanwhile, in another way.
    if (apiCode(error) !== STREAM_NAME_IN_USE) throw error;
    return (await jsm.streams.info(EVENT_STREAM)).config;
  }
}

function apiCode(error: unknown): number | undefined {
  return error instanceof JetStreamApiError ? error.code : undefined;
}

/** Whether a stream that takes `subject` takes all that `wanted` stands for. Both may have `*` for one part, and `>` for all that follow. */
export function covers(subject: string, wanted: string): boolean {
  const parts = subject.split('.');
  const wantedParts = wanted.split('.');
  const end = parts.indexOf('>');
  if (end === -1 ? parts.length !== wantedParts.length : wantedParts.length <= end) return false;
  return parts.slice(0, end === -1 ? undefined : end).every((part, i) => part === '*' || part === wantedParts[i]);
}
