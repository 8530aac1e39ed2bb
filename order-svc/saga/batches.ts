import type { Client } from '@connectrpc/connect';
import type { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { wasRolledBack } from '../../runtime/db/sql-errors.ts';
import { GroupCommit, Lanes } from '../../runtime/group-commit.ts';
import { nextTurn } from '../../runtime/next-turn.ts';
import { type ClaimConflict, insertClaims, type NewClaim } from '../db/claims.ts';
import type { EventHandOver } from '../db/events.ts';
import { findOrders, findOrdersByKey } from '../db/find-orders.ts';
import type { OrderDb } from '../db/models.ts';
import { ClaimLostError, persistOrders } from '../db/persist-orders.ts';
import type { NewOrder, Order, Snapshot } from '../domain/order.ts';
import { step } from '../domain/steps.ts';
import { deductTogether, type DeductCall } from './deduct-together.ts';

/** What requests do together. One request alone is a batch of one. */
export interface Batches {
  /** The order of a number, whoever's it is. */
  readonly findByNo: GroupCommit<string, Order | undefined>;
  /** The order of a key, whoever's it is. */
  readonly findByKey: GroupCommit<string, Order | undefined>;
  readonly deduct: GroupCommit<DeductCall, Snapshot[]>;
  /** Puts up a claim. Answers with what it hit, if it hit something. */
  claim(claim: NewClaim, signal: AbortSignal): Promise<ClaimConflict | undefined>;
  /** Writes an order in place of its claim. */
  persist(order: NewOrder, signal: AbortSignal): Promise<Order>;
}

/** What one attempt writes to the orders' database, and what it is answered. */
type Write = { claim: NewClaim; order?: never } | { order: NewOrder; claim?: never };
type Written = ClaimConflict | undefined | Order;

/** @param maxSize most requests of one batch; 1: each by itself. */
export function createBatches(
  db: OrderDb,
  stock: Client<typeof StockService>,
  handOver: EventHandOver,
  maxSize: number,
): Batches {
  // One lane for what the attempts do one after the other, or they would spread over it in small batches.
  const lanes = new Lanes();
  // Claims of some attempts and orders of others go out in one transaction: a commit costs more than what is in it.
  const writes = new GroupCommit<Write, Written>({
    run: (batch) => writeTogether(db, batch, handOver),
    weightOf: ({ claim, order }) => (claim?.intent.lines ?? order!.items).length,
    runAlone: (error) => error instanceof ClaimLostError || wasRolledBack(error),
    maxSize,
    lanes,
  });
  const lookup = (find: (wanted: readonly string[]) => Promise<Order[]>, idOf: (order: Order) => string | undefined) =>
    new GroupCommit<string, Order | undefined>({
      async run(wanted) {
        const orders = await find([...new Set(wanted)]);
        const byId = new Map(orders.map((order) => [idOf(order), order]));
        return wanted.map((id) => byId.get(id));
      },
      runAlone: wasRolledBack,
      maxSize,
    });
  return {
    findByNo: lookup(
      (orderNos) => findOrders(db, orderNos),
      (order) => order.orderNo,
    ),
    findByKey: lookup(
      (keys) => step('pre-check', () => findOrdersByKey(db, keys)),
      (order) => order.clientRequestId,
    ),
    deduct: new GroupCommit({
      run: (calls) => step('deduct', () => deductTogether(stock, calls)),
      weightOf: ({ lines }) => lines.length,
      runAlone: () => false,
      maxSize,
      lanes,
    }),
    claim: (claim, signal) => writes.submit({ claim }, signal) as Promise<ClaimConflict | undefined>,
    async persist(order, signal) {
      const made = (await writes.submit({ order }, signal)) as Order;
      // What the other attempts need next goes out first; then this one is answered.
      await nextTurn();
      return made;
    },
  };
}

async function writeTogether(db: OrderDb, batch: readonly Write[], handOver: EventHandOver): Promise<Written[]> {
  const claims = batch.flatMap(({ claim }) => claim ?? []);
  const orders = batch.flatMap(({ order }) => order ?? []);
  if (orders.length === 0) return insertClaims(db, claims);
  const made = new Map((await persistOrders(db, orders, handOver, claims)).map((order) => [order.orderNo, order]));
  return batch.map(({ order }) => order && made.get(order.orderNo));
}
