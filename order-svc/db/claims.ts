import { duplicateKey } from '../../runtime/db/sql-errors.ts';
import { execute, rowsOf, select, type Statement } from '../../runtime/db/statements.ts';
import type { Intent } from '../domain/intent.ts';
import { step } from '../domain/steps.ts';
import type { OrderDb } from './models.ts';

/** A claim to insert: the dead man's switch of one attempt. */
export interface NewClaim {
  readonly orderNo: string;
  readonly intent: Intent;
  /** Milliseconds from now, by the database's clock, after which anybody may give the stock back. */
  readonly leaseMs: number;
}

/** Which of its two unique columns a claim hit: the key is in flight, or the number is taken. */
export type ClaimConflict = 'uk_client_request_id' | 'PRIMARY';

/**
 * Inserts claims, all or none. Answers each with undefined: done. One claim alone is answered with what it hit.
 *
 * @throws the driver's duplicate-key error when one of several hit something: run them one by one.
 */
export async function insertClaims(db: OrderDb, claims: readonly NewClaim[]): Promise<(ClaimConflict | undefined)[]> {
  try {
    const { sql, values } = claimsStatement(claims);
    await step('claim', () => execute(db.sequelize, sql, values));
    return claims.map(() => undefined);
  } catch (error) {
    const key = duplicateKey(error);
    if (claims.length === 1 && (key === 'PRIMARY' || key === 'uk_client_request_id')) return [key];
    throw error;
  }
}

/** Inserts claims in the order of their keys: two processes that have some in common wait for each other, and never both ways. */
export function claimsStatement(claims: readonly NewClaim[]): Statement {
  const sorted = claims.toSorted((a, b) =>
    (a.intent.clientRequestId ?? '') < (b.intent.clientRequestId ?? '') ? -1 : 1,
  );
  return {
    sql: `INSERT INTO t_order_claim (order_no, client_request_id, user_id, fingerprint, items, expire_time)
      VALUES ${rowsOf('(?, ?, ?, ?, ?, UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND)', claims.length)}`,
    values: sorted.flatMap(({ orderNo, intent, leaseMs }) => [
      orderNo,
      intent.clientRequestId === undefined ? null : Buffer.from(intent.clientRequestId),
      intent.userId,
      intent.fingerprint,
      itemsJson(intent),
      Math.round(leaseMs * 1000),
    ]),
  };
}

/**
 * Deletes claims. Without the LIMIT the optimizer may look at every row of so small a table, and so wait for the claims that
 * other processes have in work.
 */
export function deleteClaimsStatement(orderNos: readonly string[]): Statement {
  return {
    sql: 'DELETE FROM t_order_claim WHERE order_no IN (?) ORDER BY order_no LIMIT ?',
    values: [orderNos, orderNos.length],
  };
}

/** A claim as it stands. */
export interface Claim {
  readonly orderNo: string;
  readonly userId: bigint;
  readonly fingerprint: Buffer;
  /** By the database's clock. Its owner may still make the order of it, until somebody takes it away. */
  readonly expired: boolean;
}

/** The claim of a key, whoever's it is. */
export async function findClaimByKey(db: OrderDb, clientRequestId: string): Promise<Claim | undefined> {
  const [row] = await select<{ order_no: string; user_id: string; fingerprint: Buffer; expired: number }>(
    db.sequelize,
    `SELECT order_no, user_id, fingerprint, expire_time <= UTC_TIMESTAMP(3) AS expired
      FROM t_order_claim WHERE client_request_id = ?`,
    [Buffer.from(clientRequestId)],
  );
  if (!row) return undefined;
  const { order_no: orderNo, user_id: userId, fingerprint, expired } = row;
  return { orderNo, userId: BigInt(userId), fingerprint, expired: Number(expired) === 1 };
}

/** The numbers of claims that have expired, oldest first. */
export async function findExpiredClaims(db: OrderDb, limit: number): Promise<string[]> {
  const rows = await select<{ order_no: string }>(
    db.sequelize,
    'SELECT order_no FROM t_order_claim WHERE expire_time <= UTC_TIMESTAMP(3) ORDER BY expire_time LIMIT ?',
    [limit],
  );
  return rows.map((row) => row.order_no);
}

/** Takes a claim away whose attempt has left nothing behind. */
export async function deleteClaim(db: OrderDb, orderNo: string): Promise<void> {
  const { sql, values } = deleteClaimsStatement([orderNo]);
  await step('compensate.unclaim', () => execute(db.sequelize, sql, values));
}

/**
 * Whether a claim stands. Waits for a transaction that has its row: when this answers, that transaction has been committed or
 * rolled back.
 */
export async function claimStands(db: OrderDb, orderNo: string): Promise<boolean> {
  const rows = await select(db.sequelize, 'SELECT order_no FROM t_order_claim WHERE order_no = ? FOR UPDATE', [
    orderNo,
  ]);
  return rows.length > 0;
}

function itemsJson({ lines }: Intent): string {
  return JSON.stringify(
    lines.map(({ productId, quantity, unitPriceCents }) => ({
      product_id: String(productId),
      quantity: String(quantity),
      ...(unitPriceCents !== undefined && { unit_price_cents: String(unitPriceCents) }),
    })),
  );
}
