import type { ResultSetHeader } from 'mysql2';
import { commitTogether, type GuardedStatement, UnexpectedRowsError } from '../../runtime/db/commit-together.ts';
import { rowsOf, type Statement } from '../../runtime/db/statements.ts';
import { step } from '../domain/steps.ts';
import { toDecimal } from '../domain/money.ts';
import type { NewOrder, Order } from '../domain/order.ts';
import { orderPayload } from '../domain/order-payload.ts';
import { claimsStatement, deleteClaimsStatement, type NewClaim } from './claims.ts';
import type { EventHandOver, EventLease, LeasedEvent } from './events.ts';
import type { OrderDb } from './models.ts';

/** The claim was taken away while its owner was at work: no order may come of it. */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
}

/** An event as it is written, apart from its time. */
type NewEvent = Omit<LeasedEvent, 'createTime' | 'leaseOwner'>;

/**
 * Writes orders in place of their claims, in one transaction, all or none: a claim and its order never exist together. Claims of other
 * attempts, which wait at the same time, may go in with them. The orders' events are handed over when it is committed.
 *
 * @throws ClaimLostError, the driver's duplicate-key error, or UnknownCommitError.
 */
export async function persistOrders(
  db: OrderDb,
  orders: readonly NewOrder[],
  handOver: EventHandOver,
  newClaims: readonly NewClaim[] = [],
): Promise<Order[]> {
  const lease = handOver.lease();
  const events = orders.map(createdEvent);
  const [, , now] = await commitOrders(db, [
    { ...deleteClaimsStatement(orders.map((order) => order.orderNo)), mustChange: orders.length },
    { sql: 'SET @now = UTC_TIMESTAMP(3)', values: [] },
    { sql: 'SELECT CAST(@now AS DATETIME(3)) AS create_time', values: [] },
    insertOrders(orders),
    insertItems(orders),
    insertEvents(events, lease),
    ...(newClaims.length > 0 ? [claimsStatement(newClaims)] : []),
  ]);
  const createTime = now[0]!.create_time;
  if (lease) handOver.push(events.map((event) => ({ ...event, createTime, leaseOwner: lease.owner })));
  return orders.map((order) => ({ ...order, status: 'WAIT_PAY', createTime }));
}

async function commitOrders(db: OrderDb, statements: readonly GuardedStatement[]) {
  try {
    return await commitTogether<[ResultSetHeader, ResultSetHeader, { create_time: Date }[]]>(
      db.sequelize,
      statements,
      (send) => step('persist', send),
    );
  } catch (error) {
    if (error instanceof UnexpectedRowsError) throw new ClaimLostError('the claim was taken away', { cause: error });
    throw error;
  }
}

function insertOrders(orders: readonly NewOrder[]): Statement {
  return {
    sql: `INSERT INTO t_order (order_no, user_id, client_request_id, fingerprint, status, total_amount, create_time)
      VALUES ${rowsOf("(?, ?, ?, ?, 'WAIT_PAY', ?, @now)", orders.length)}`,
    values: orders.flatMap((order) => [
      order.orderNo,
      order.userId,
      order.clientRequestId === undefined ? null : Buffer.from(order.clientRequestId),
      order.fingerprint,
      toDecimal(order.totalAmountCents),
    ]),
  };
}

function insertItems(orders: readonly NewOrder[]): Statement {
  const rows = orders.flatMap(({ orderNo, items }) =>
    items.map((item, lineNo) => [orderNo, lineNo, item.productId, item.quantity, item.title, item.unitPriceCents]),
  );
  return {
    sql: `INSERT INTO t_order_item (order_no, line_no, product_id, quantity, title, unit_price_cents)
      VALUES ${rowsOf('(?, ?, ?, ?, ?, ?)', rows.length)}`,
    values: rows.flat(),
  };
}

function insertEvents(events: readonly NewEvent[], lease: EventLease | undefined): Statement {
  const leaseEnd = lease ? '@now + INTERVAL ? MICROSECOND' : 'NULL';
  return {
    sql: `INSERT INTO t_event_record (event_id, order_no, event_type, payload, create_time, attempts, lease_owner, lease_time)
      VALUES ${rowsOf(`(?, ?, ?, ?, @now, ${lease ? '1, ?' : '0, NULL'}, ${leaseEnd})`, events.length)}`,
    values: events.flatMap(({ eventId, orderNo, eventType, payload }) => [
      eventId,
      orderNo,
      eventType,
      JSON.stringify(payload),
      ...(lease ? [lease.owner, lease.leaseMs * 1000] : []),
    ]),
  };
}

function createdEvent(order: NewOrder): NewEvent {
  const eventId = `${order.orderNo}.ORDER_CREATED`;
  return { eventId, orderNo: order.orderNo, eventType: 'ORDER_CREATED', payload: orderPayload(order), attempts: 1 };
}
