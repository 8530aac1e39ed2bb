import type { PutProductsRequest } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { FieldViolations } from '../../runtime/rpc/field-violations.ts';
import {
  MAX_CENTS,
  MAX_LINES,
  MAX_PRODUCT_ID,
  MAX_QUANTITY,
  MAX_TITLE_LENGTH,
  NUMBER_PATTERN,
  NUMBER_RULE,
} from './limits.ts';
import { type Quantity, sumByProduct } from './quantities.ts';

/** What one Deduct asks for. */
export interface Deduction {
  readonly orderNo: string;
  /** Summed by product, ascending. */
  readonly quantities: Quantity[];
  /** What the buyer was shown: product and price, for each line that gave one. */
  readonly shownPrices: { productId: bigint; unitPriceCents: bigint }[];
}

interface Line extends Quantity {
  readonly unitPriceCents?: bigint | undefined;
}

export function readDeduction(request: { orderNo: string; items: readonly Line[] }): Deduction {
  const violations = new FieldViolations();
  violations.match('order_no', request.orderNo, NUMBER_PATTERN, NUMBER_RULE);
  const quantities = readLines(violations, request.items);
  for (const { productId, quantity } of quantities) {
    if (quantity > MAX_QUANTITY) {
      violations.add('items', `at most ${MAX_QUANTITY} pieces of one product, product ${productId} had ${quantity}`);
    }
  }
  violations.throwIfAny();
  const shownPrices = request.items.flatMap(({ productId, unitPriceCents }) =>
    unitPriceCents === undefined ? [] : [{ productId, unitPriceCents }],
  );
  return { orderNo: request.orderNo, quantities, shownPrices };
}

/** What one ReceiveStock brings. */
export interface Receipt {
  readonly receiptNo: string;
  readonly quantities: Quantity[];
}

export function readReceipt(request: { receiptNo: string; items: readonly Quantity[] }): Receipt {
  const violations = new FieldViolations();
  violations.match('receipt_no', request.receiptNo, NUMBER_PATTERN, NUMBER_RULE);
  const quantities = readLines(violations, request.items);
  violations.throwIfAny();
  return { receiptNo: request.receiptNo, quantities };
}

export function readOrderNo(orderNo: string): string {
  const violations = new FieldViolations();
  violations.match('order_no', orderNo, NUMBER_PATTERN, NUMBER_RULE);
  violations.throwIfAny();
  return orderNo;
}

/** Products of one PutProducts. */
export type NewProduct = Pick<PutProductsRequest['products'][number], 'productId' | 'title' | 'unitPriceCents'>;

export function readProducts(products: readonly NewProduct[]): readonly NewProduct[] {
  const violations = new FieldViolations();
  const seen = new Set<bigint>();
  if (violations.count('products', products, 1, MAX_LINES)) {
    products.forEach(({ productId, title, unitPriceCents }, i) => {
      violations.range(`products[${i}].product_id`, productId, 1n, MAX_PRODUCT_ID);
      if (seen.has(productId)) violations.add(`products[${i}].product_id`, `product ${productId} stands twice`);
      seen.add(productId);
      const length = [...title].length;
      if (title.trim() === '' || length > MAX_TITLE_LENGTH) {
        violations.add(`products[${i}].title`, `must have 1 to ${MAX_TITLE_LENGTH} characters, had ${length}`);
      }
      violations.range(`products[${i}].unit_price_cents`, unitPriceCents, 0n, MAX_CENTS);
    });
  }
  violations.throwIfAny();
  return products;
}

/** The product ids asked for, each once, ascending. */
export function readProductIds(productIds: readonly bigint[]): bigint[] {
  const violations = new FieldViolations();
  if (violations.count('product_ids', productIds, 1, MAX_LINES)) {
    productIds.forEach((id, i) => violations.range(`product_ids[${i}]`, id, 1n, MAX_PRODUCT_ID));
  }
  violations.throwIfAny();
  return [...new Set(productIds)].sort((a, b) => (a < b ? -1 : 1));
}

function readLines(violations: FieldViolations, items: readonly Line[]): Quantity[] {
  if (!violations.count('items', items, 1, MAX_LINES)) return [];
  items.forEach(({ productId, quantity, unitPriceCents }, i) => {
    violations.range(`items[${i}].product_id`, productId, 1n, MAX_PRODUCT_ID);
    violations.range(`items[${i}].quantity`, quantity, 1n, MAX_QUANTITY);
    if (unitPriceCents !== undefined) {
      violations.range(`items[${i}].unit_price_cents`, unitPriceCents, 0n, MAX_CENTS);
    }
  });
  return sumByProduct(items);
}
