import { orderError } from './reasons.ts';
import type { Intent } from './intent.ts';

/** An order that is PAID or CANCELLED stays so. */
export type OrderStatus = 'WAIT_PAY' | 'PAID' | 'CANCELLED';

export type CancelledBy = 'USER' | 'EXPIRY';

/** A line as it was bought. */
export interface OrderItem {
  readonly productId: bigint;
  readonly quantity: bigint;
  readonly title: string;
  readonly unitPriceCents: bigint;
}

/** An order that is about to be written. */
export interface NewOrder {
  readonly orderNo: string;
  readonly userId: bigint;
  readonly clientRequestId: string | undefined;
  readonly fingerprint: Buffer;
  readonly items: readonly OrderItem[];
  readonly totalAmountCents: bigint;
}

/** An order as it stands. */
export interface Order extends NewOrder {
  readonly status: OrderStatus;
  readonly createTime: Date;
  /** What paid it, when it is PAID. */
  readonly paid?: { readonly paymentNo: string; readonly time: Date } | undefined;
  /** Who cancelled it, and why, when it is CANCELLED. */
  readonly cancelled?:
    { readonly by: CancelledBy; readonly reason: string | undefined; readonly time: Date } | undefined;
}

/** What Deduct answers for each product. */
export type Snapshot = Pick<OrderItem, 'productId' | 'title' | 'unitPriceCents'>;

/** The order that an intent becomes, with the titles and prices that its stock was taken at. */
export function newOrder(orderNo: string, intent: Intent, snapshots: readonly Snapshot[]): NewOrder {
  const byProduct = new Map(snapshots.map((snapshot) => [snapshot.productId, snapshot]));
  const items = intent.lines.map(({ productId, quantity }) => {
    const snapshot = byProduct.get(productId);
    if (!snapshot) throw new Error(`stock-svc answered without product ${productId}`);
    return { productId, quantity, title: snapshot.title, unitPriceCents: snapshot.unitPriceCents };
  });
  const { userId, clientRequestId, fingerprint } = intent;
  const totalAmountCents = items.reduce((sum, item) => sum + item.quantity * item.unitPriceCents, 0n);
  return { orderNo, userId, clientRequestId, fingerprint, items, totalAmountCents };
}

/**
 * Refuses a key that stands for something else: another user's intent, or another cart. One answer for both, with nothing of the
 * other in it.
 */
export function checkSameIntent(found: Pick<NewOrder, 'userId' | 'fingerprint'>, intent: Intent): void {
  if (found.userId === intent.userId && found.fingerprint.equals(intent.fingerprint)) return;
  throw orderError('CLIENT_REQUEST_ID_CONFLICT', 'client_request_id belongs to another request', {
    fieldViolations: [{ field: 'client_request_id', description: 'belongs to another request' }],
  });
}
