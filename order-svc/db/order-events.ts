import { rowsOf, type Statement } from '../../runtime/db/statements.ts';

/** An event to write in the transaction of what it reports. */
export interface NewEvent {
  readonly orderNo: string;
  readonly eventType: 'ORDER_PAID' | 'ORDER_PAYMENT_REFUSED' | 'ORDER_CANCELLED' | 'STOCK_RESTORE';
  /** Tells apart events of a type that an order can have more of. */
  readonly of?: string;
  readonly payload: object;
}

/** Events of one statement have one time: within an order the relay takes them in the order of their ids. */
export function insertEvents(events: readonly NewEvent[]): Statement {
  return {
    sql: `INSERT INTO t_event_record (event_id, order_no, event_type, payload)
      VALUES ${rowsOf('(?, ?, ?, ?)', events.length)}`,
    values: events.flatMap(({ orderNo, eventType, of, payload }) => [
      `${orderNo}.${eventType}${of === undefined ? '' : `.${of}`}`,
      orderNo,
      eventType,
      JSON.stringify(payload),
    ]),
  };
}
