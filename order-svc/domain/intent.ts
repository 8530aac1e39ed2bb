import type { CreateOrderRequest } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { fingerprintOf } from '../../runtime/fingerprint.ts';
import { FieldViolations } from '../../runtime/rpc/field-violations.ts';

/** Lines of one order. */
export const MAX_LINES = 100;
/** Pieces on one line, and of one product in one order. */
export const MAX_QUANTITY = 1_000_000n;
/** Cents: what DECIMAL(12,2) holds, the type of t_order.total_amount. */
export const MAX_CENTS = 999_999_999_999n;
const MAX_INT64 = 2n ** 63n - 1n;

const KEY_PATTERN = /^[A-Za-z0-9._:-]{1,64}$/;
const KEY_RULE = 'must be 1 to 64 of A-Z a-z 0-9 . _ : -';

/** One line to buy. */
export interface Line {
  readonly productId: bigint;
  readonly quantity: bigint;
  /** What the user was shown. Undefined: whatever the price is. */
  readonly unitPriceCents?: bigint | undefined;
}

/** One user's intent to buy, checked. */
export interface Intent {
  readonly userId: bigint;
  /** Undefined: repeats cannot be told from new intents. */
  readonly clientRequestId: string | undefined;
  readonly lines: readonly Line[];
  /** Tells whether two requests ask for the same. */
  readonly fingerprint: Buffer;
}

/** Checks a request before anything is touched. */
export function readIntent(userId: bigint, request: CreateOrderRequest): Intent {
  const violations = new FieldViolations();
  const clientRequestId = request.clientRequestId || undefined;
  if (clientRequestId !== undefined) violations.match('client_request_id', clientRequestId, KEY_PATTERN, KEY_RULE);
  if (violations.count('items', request.items, 1, MAX_LINES)) checkLines(violations, request.items);
  violations.throwIfAny();
  const lines = request.items.map(({ productId, quantity, unitPriceCents }) => ({
    productId,
    quantity,
    unitPriceCents,
  }));
  return { userId, clientRequestId, lines, fingerprint: cartFingerprint(lines) };
}

/** Checks the key of a question about an intent. */
export function readClientRequestId(clientRequestId: string): string {
  const violations = new FieldViolations();
  violations.match('client_request_id', clientRequestId, KEY_PATTERN, KEY_RULE);
  violations.throwIfAny();
  return clientRequestId;
}

function checkLines(violations: FieldViolations, lines: readonly Line[]): void {
  const pieces = new Map<bigint, bigint>();
  let total = 0n;
  lines.forEach(({ productId, quantity, unitPriceCents }, i) => {
    violations.range(`items[${i}].product_id`, productId, 1n, MAX_INT64);
    violations.range(`items[${i}].quantity`, quantity, 1n, MAX_QUANTITY);
    if (unitPriceCents !== undefined) {
      violations.range(`items[${i}].unit_price_cents`, unitPriceCents, 0n, MAX_CENTS);
      total += quantity * unitPriceCents;
    }
    pieces.set(productId, (pieces.get(productId) ?? 0n) + quantity);
  });
  for (const [productId, quantity] of pieces) {
    if (quantity <= MAX_QUANTITY) continue;
    violations.add('items', `at most ${MAX_QUANTITY} pieces of one product, product ${productId} had ${quantity}`);
  }
  if (total > MAX_CENTS) violations.add('items', `the total would be ${total} cents, at most ${MAX_CENTS} is possible`);
}

/** The same for the same cart: the order of lines does not count, nor how the pieces of one price are split over lines. */
export function cartFingerprint(lines: readonly Line[]): Buffer {
  const sums = new Map<string, Line>();
  for (const { productId, quantity, unitPriceCents } of lines) {
    const key = `${productId} ${unitPriceCents}`;
    sums.set(key, { productId, unitPriceCents, quantity: quantity + (sums.get(key)?.quantity ?? 0n) });
  }
  return fingerprintOf([...sums.values()].map((line) => [line.productId, line.unitPriceCents, line.quantity]));
}
