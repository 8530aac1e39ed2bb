import type { Logger } from '../../runtime/lifecycle/logger.ts';
import type { Publisher } from './publisher.ts';

/** Writes events to the log: for development, and where nobody wants to hear of them. */
export function logPublisher(logger: Logger): Publisher {
  return {
    start: () => Promise.resolve(),
    isReady: () => true,
    publish({ eventId, eventType, orderNo, payload, createTime }) {
      const event = { event_id: eventId, event_type: eventType, create_time: createTime, payload };
      logger.info({ order_no: orderNo, event }, 'event');
      return Promise.resolve();
    },
    stop: () => Promise.resolve(),
  };
}
