import type { Client } from '@connectrpc/connect';
import type { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { wasRolledBack } from '../../runtime/db/sql-errors.ts';
import { GroupCommit } from '../../runtime/group-commit.ts';
import { type ClaimConflict, insertClaims, type NewClaim } from '../db/claims.ts';
import type { EventHandOver } from '../db/events.ts';
import { findOrders } from '../db/find-orders.ts';
import type { OrderDb } from '../db/models.ts';
import { ClaimLostError, persistOrders } from '../db/persist-orders.ts';
import type { NewOrder, Order, Snapshot } from '../domain/order.ts';
import { deductTogether, type DeductCall } from './deduct-together.ts';

/** The steps of CreateOrder that requests take together. One request alone is a batch of one. */
export interface Batches {
  /** The order of a key, whoever's it is. */
  readonly findByKey: GroupCommit<string, Order | undefined>;
  readonly claim: GroupCommit<NewClaim, ClaimConflict | undefined>;
  readonly deduct: GroupCommit<DeductCall, Snapshot[]>;
  readonly persist: GroupCommit<NewOrder, Order>;
}

/** @param maxSize most requests of one batch; 1: each by itself. */
export function createBatches(
  db: OrderDb,
  stock: Client<typeof StockService>,
  handOver: EventHandOver,
  maxSize: number,
): Batches {
  return {
    findByKey: new GroupCommit({
      async run(keys) {
        const orders = await findOrders(db, 'client_request_id', [...new Set(keys)]);
        const byKey = new Map(orders.map((order) => [order.clientRequestId, order]));
        return keys.map((key) => byKey.get(key));
      },
      runAlone: wasRolledBack,
      maxSize,
    }),
    claim: new GroupCommit({
      run: (claims) => insertClaims(db, claims),
      weightOf: ({ intent }) => intent.lines.length,
      runAlone: wasRolledBack,
      maxSize,
    }),
    deduct: new GroupCommit({
      run: (calls) => deductTogether(stock, calls),
      weightOf: ({ lines }) => lines.length,
      runAlone: () => false,
      maxSize,
      lanes: 2,
    }),
    persist: new GroupCommit({
      run: (orders) => persistOrders(db, orders, handOver),
      weightOf: ({ items }) => items.length,
      runAlone: (error) => error instanceof ClaimLostError || wasRolledBack(error),
      maxSize,
    }),
  };
}
