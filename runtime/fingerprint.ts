import { createHash } from 'node:crypto';

/** A value that can be fingerprinted. */
type Value = string | bigint | undefined;

/**
 * SHA-256 over a set of rows: the same for the same rows in another order, different for any other difference. 32 bytes.
 * Undefined differs from every value; a bigint is its decimal text.
 */
export function fingerprintOf(rows: readonly (readonly Value[])[]): Buffer {
  const texts = rows.map((row) => JSON.stringify(row.map((value) => (value === undefined ? null : String(value)))));
  return createHash('sha256').update(texts.sort().join('\n')).digest();
}
