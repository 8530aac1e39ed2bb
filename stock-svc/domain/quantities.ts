import { fingerprintOf } from '../../runtime/fingerprint.ts';

/** Pieces of one product. */
export interface Quantity {
  readonly productId: bigint;
  readonly quantity: bigint;
}

/** One entry for each product, lines of one product summed, in ascending product_id: the order in which rows are locked. */
export function sumByProduct(lines: readonly Quantity[]): Quantity[] {
  const sums = new Map<bigint, bigint>();
  for (const { productId, quantity } of lines) sums.set(productId, (sums.get(productId) ?? 0n) + quantity);
  return [...sums]
    .map(([productId, quantity]) => ({ productId, quantity }))
    .sort((a, b) => (a.productId < b.productId ? -1 : 1));
}

/** Tells whether two requests move the same pieces. */
export function quantitiesFingerprint(quantities: readonly Quantity[]): Buffer {
  return fingerprintOf(quantities.map(({ productId, quantity }) => [productId, quantity]));
}
