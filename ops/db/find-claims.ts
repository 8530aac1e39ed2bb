import type { Sequelize } from 'sequelize';
import { jsonOf, select } from '../../runtime/db/statements.ts';

/** A claim: an attempt at an order that is at work, or whose process died. */
export interface Claim {
  readonly order_no: string;
  readonly client_request_id: string | null;
  readonly user_id: string;
  readonly expire_time: Date;
  /** By the database's clock. */
  readonly expired: boolean;
  readonly items: unknown;
}

interface Row extends Omit<Claim, 'client_request_id' | 'expired'> {
  client_request_id: Buffer | null;
  expired: number;
}

/** The claims that expire first. */
export function findClaims(order: Sequelize, limit: number): Promise<Claim[]> {
  return find(order, 'ORDER BY expire_time LIMIT ?', [limit]);
}

export async function findClaim(
  order: Sequelize,
  column: 'order_no' | 'client_request_id',
  value: string,
): Promise<Claim | undefined> {
  return (await find(order, `WHERE ${column} = ?`, [column === 'order_no' ? value : Buffer.from(value)]))[0];
}

async function find(order: Sequelize, which: string, values: readonly unknown[]): Promise<Claim[]> {
  const rows = await select<Row>(
    order,
    `SELECT order_no, client_request_id, user_id, expire_time, expire_time <= UTC_TIMESTAMP(3) AS expired, items
      FROM t_order_claim ${which}`,
    values,
  );
  return rows.map((row) => ({
    ...row,
    client_request_id: row.client_request_id?.toString() ?? null,
    expired: Number(row.expired) === 1,
    items: jsonOf(row.items),
  }));
}
