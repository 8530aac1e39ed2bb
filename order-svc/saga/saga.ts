import type { Client, HandlerContext } from '@connectrpc/connect';
import type { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import type { CallLog } from '../../runtime/lifecycle/logger.ts';
import type { Bound } from '../../runtime/rpc/overload.ts';
import type { OrderDb } from '../db/models.ts';
import type { Order } from '../domain/order.ts';
import type { OrderNumbers } from '../domain/order-numbers.ts';
import type { Batches } from './batches.ts';
import type { InFlight } from './in-flight.ts';

/** What the saga works with. Times in milliseconds. */
export interface Saga {
  readonly db: OrderDb;
  readonly stock: Client<typeof StockService>;
  readonly numbers: Pick<OrderNumbers, 'next'>;
  readonly inFlight: InFlight;
  readonly batches: Batches;
  /** Attempts at work. */
  readonly newOrders: Bound;
  /** Lets a relay look for events that were written without a lease. */
  readonly wakeRelay: () => void;
  /** How long a claim outlives the deadline of its call: time for a compensation that the reaper need not do. */
  readonly claimMarginMs: number;
  /** The time budget of a compensation, which does not end with its call. */
  readonly compensationMs: number;
}

/** The call that an attempt serves: its deadline, its end, its log. */
export interface Call extends Pick<HandlerContext, 'signal' | 'timeoutMs'> {
  readonly log: CallLog;
}

/** The order of an intent, made now or before. */
export interface Outcome {
  readonly order: Order;
  readonly replayed: boolean;
}
