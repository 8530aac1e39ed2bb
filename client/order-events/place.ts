import type { Pool, PoolConnection } from 'mysql2/promise';
import { inTransaction, rowsOf } from './tables.ts';

/** Where a consumer stands. */
export interface Place {
  /** The stream, by when it was made, as the broker says it: one that was made anew counts anew. */
  readonly stream: string;
  /** The number of the last event that is done with; 0 at first. */
  readonly seq: number;
}

/** Where the consumer stands in this stream. */
export async function startPlace(db: Pool, durable: string, stream: string): Promise<Place> {
  return inTransaction(db, async (tx) => {
    const insert =
      'INSERT INTO t_event_place (durable, stream, seq) VALUES (?, ?, 0) ON DUPLICATE KEY UPDATE seq = seq';
    await tx.query(insert, [durable, stream]);
    const place = await lockPlace(tx, durable);
    if (place.stream === stream) return place;
    await tx.query('UPDATE t_event_place SET stream = ?, seq = 0 WHERE durable = ?', [stream, durable]);
    return { stream, seq: 0 };
  });
}

/** Where the consumer stands. Nobody else of its name can begin anything until the transaction ends. */
export async function lockPlace(tx: PoolConnection, durable: string): Promise<Place> {
  const sql = 'SELECT stream, seq FROM t_event_place WHERE durable = ? FOR UPDATE';
  const [row] = await rowsOf<{ stream: string; seq: string | number }>(tx, sql, [durable]);
  if (!row) throw new Error(`nobody has consumed as ${durable} yet`);
  return { stream: row.stream, seq: Number(row.seq) };
}

/**
 * What of the events is not done with yet, with the place locked.
 *
 * @throws when they are of a stream that was made anew meanwhile.
 */
export async function lockAhead<E extends { readonly seq: number }>(
  tx: PoolConnection,
  durable: string,
  stream: string,
  events: readonly E[],
): Promise<E[]> {
  const place = await lockPlace(tx, durable);
  if (place.stream !== stream) throw new Error('the stream was made anew');
  return events.filter((event) => event.seq > place.seq);
}

/** All up to this event is done with. */
export async function movePlace(tx: PoolConnection, durable: string, { seq }: { readonly seq: number }): Promise<void> {
  await tx.query('UPDATE t_event_place SET seq = ? WHERE durable = ?', [seq, durable]);
}
