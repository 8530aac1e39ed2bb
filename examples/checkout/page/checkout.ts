import { PurchaseIntent } from 'ordersystem-cloud';

/**
 * Where this browser's purchase stands: `cart`: nothing was sent yet; `ordering`: there may be an order, and the cart stays as it is
 * until that is known; `refused`: there is none; `ordered`: there is one.
 */
export type Phase = 'cart' | 'ordering' | 'refused' | 'ordered';

/** One purchase of this browser. The cart is the intent's: another cart is another intent. */
export interface Checkout {
  readonly phase: Phase;
  readonly intent: PurchaseIntent;
}

// All tabs of the shop see it, and it is there after a reload.
const KEY = 'checkout';

let current: Checkout | undefined;

/** What this browser has saved; an empty cart when that is nothing. While the intent is the same, it is the same object. */
export function readCheckout(): Checkout {
  const text = localStorage.getItem(KEY);
  if (text === null) return (current = { phase: 'cart', intent: PurchaseIntent.create([]) });
  const saved = JSON.parse(text) as { phase: Phase; intent: unknown };
  const intent = PurchaseIntent.fromJSON(saved.intent);
  const same = current?.intent.clientRequestId === intent.clientRequestId;
  return (current = { phase: saved.phase, intent: same ? current!.intent : intent });
}

/** Saves it for all tabs, before anything is done about it. */
export function saveCheckout(checkout: Checkout): Checkout {
  localStorage.setItem(KEY, JSON.stringify(checkout));
  return (current = checkout);
}

/** Saves what became of an intent, unless the user has gone on to another one since, in another tab. */
export function settleCheckout(intent: PurchaseIntent, phase: 'refused' | 'ordered'): void {
  if (readCheckout().intent.clientRequestId === intent.clientRequestId) saveCheckout({ phase, intent });
}

/** The next purchase starts with an empty cart. */
export function forgetCheckout(): void {
  localStorage.removeItem(KEY);
}
