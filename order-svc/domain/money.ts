/** Cents as the text of a DECIMAL(12,2). */
export function toDecimal(cents: bigint): string {
  return `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`;
}

/** The text of a DECIMAL(12,2) as cents. */
export function toCents(decimal: string): bigint {
  return BigInt(decimal.replace('.', ''));
}
