import { MAX_CENTS } from './limits.ts';
import type { Quantity } from './quantities.ts';
import type { Deduction } from './read-request.ts';
import { stockError } from './reasons.ts';

/** A product as it was read. */
export interface Product {
  readonly productId: bigint;
  readonly title: string;
  readonly unitPriceCents: bigint;
  available: bigint;
}

/** What was taken of one product, at which title and price. */
export interface TakenItem extends Quantity {
  readonly title: string;
  readonly unitPriceCents: bigint;
}

/**
 * Takes one order's pieces from the products, all or none: what is taken is no longer available to the next order.
 *
 * @throws the refusal, and takes nothing.
 */
export function take(deduction: Deduction, products: ReadonlyMap<bigint, Product>): TakenItem[] {
  const items = deduction.quantities.map(({ productId, quantity }) => {
    const product = products.get(productId);
    if (!product) throw productNotFound(productId);
    return { product, quantity };
  });
  for (const { productId, unitPriceCents } of deduction.shownPrices) {
    const product = products.get(productId)!;
    if (product.unitPriceCents !== unitPriceCents) throw priceChanged(product);
  }
  const total = items.reduce((sum, { product, quantity }) => sum + product.unitPriceCents * quantity, 0n);
  if (total > MAX_CENTS) {
    throw stockError('TOTAL_TOO_LARGE', `the total would be ${total} cents, at most ${MAX_CENTS} is possible`, {
      fieldViolations: [{ field: 'items', description: `the total would be ${total} cents, over ${MAX_CENTS}` }],
    });
  }
  for (const { product, quantity } of items) {
    if (product.available < quantity) throw insufficientStock(product, quantity);
  }
  return items.map(({ product, quantity }) => {
    product.available -= quantity;
    const { productId, title, unitPriceCents } = product;
    return { productId, quantity, title, unitPriceCents };
  });
}

export function productNotFound(productId: bigint) {
  return stockError('PRODUCT_NOT_FOUND', `there is no product ${productId}`, {
    metadata: { product_id: String(productId) },
  });
}

function priceChanged({ productId, unitPriceCents }: Product) {
  return stockError('PRICE_CHANGED', `the price of product ${productId} is ${unitPriceCents} cents`, {
    metadata: { product_id: String(productId), unit_price_cents: String(unitPriceCents) },
  });
}

function insufficientStock({ productId, available }: Product, asked: bigint) {
  return stockError('INSUFFICIENT_STOCK', `product ${productId}: ${asked} asked, ${available} available`, {
    metadata: { product_id: String(productId), asked: String(asked), available: String(available) },
  });
}
