import type { Client } from '@connectrpc/connect';
import type { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import type { Logger } from '../../runtime/lifecycle/logger.ts';
import type { LeasedEvent } from '../db/events.ts';

/** Where events for the world outside go. */
export interface Publisher {
  /** Resolves when the event is safe at its destination; a repeat carries the same event_id. */
  publish(event: LeasedEvent): Promise<void>;
}

/** Writes events to the log: for development, and until there is a broker. */
export function logPublisher(logger: Logger): Publisher {
  return {
    publish({ eventId, eventType, orderNo, payload, createTime }) {
      const event = { event_id: eventId, event_type: eventType, create_time: createTime, payload };
      logger.info({ order_no: orderNo, event }, 'event');
      return Promise.resolve();
    },
  };
}

/** STOCK_RESTORE is a job for stock-svc; every other event is news for the publisher. */
export function eventHandler(stock: Client<typeof StockService>, publisher: Publisher, timeoutMs: number) {
  return async (event: LeasedEvent): Promise<void> => {
    if (event.eventType === 'STOCK_RESTORE') await stock.restore({ orderNo: event.orderNo }, { timeoutMs });
    else await publisher.publish(event);
  };
}
