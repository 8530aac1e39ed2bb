import type { Logger } from '../../runtime/lifecycle/logger.ts';
import { readNatsUrl } from '../../runtime/nats-url.ts';
import type { EventFormat } from './cloud-event.ts';
import { logPublisher } from './log-publisher.ts';
import { NatsPublisher } from './nats-publisher.ts';
import type { Publisher } from './publisher.ts';

/** Makes a publisher that has not been started. */
export type NewPublisher = (format: EventFormat, logger: Logger) => Publisher;

/** The publisher for a URL, which may hold credentials. Undefined: there is none for it. */
export function publisherFor(url: string): NewPublisher | undefined {
  if (url === 'log:') return (_format, logger) => logPublisher(logger);
  const nats = readNatsUrl(url);
  return nats && ((format, logger) => new NatsPublisher(nats, format, logger));
}
