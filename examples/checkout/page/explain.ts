import type { Progress, PurchaseError } from 'ordersystem-cloud';
import type { Phase } from './checkout.ts';
import { money, type Product } from './products.ts';

/** What a user is told while his order is on its way, or fetched. */
export function explainProgress(progress: Progress, phase: Phase): string {
  if (phase === 'ordered') return 'Fetching your order…';
  if (progress.state !== 'waiting') return 'Placing your order…';
  return 'There is no answer yet, so we keep asking. You may click again or reload the page: there will be no second order.';
}

/** What a user is told who has no order yet. */
export function explainFailure(error: PurchaseError, products: readonly Product[]): string {
  if (error.settled) return `No order was placed: ${whyRefused(error, products)}`;
  if (error.reason === 'UNAUTHENTICATED')
    return 'Your session is over. Reload the page to sign in: your order then goes on.';
  return 'We do not know yet whether your order was placed. It will not be placed twice: try again.';
}

function whyRefused({ reason, metadata, fieldViolations }: PurchaseError, products: readonly Product[]): string {
  const product = products.find(({ productId }) => String(productId) === metadata['product_id']);
  const title = `“${product?.title ?? `product ${metadata['product_id']}`}”`;
  switch (reason) {
    case 'INSUFFICIENT_STOCK':
      return metadata['available'] === '0'
        ? `${title} is sold out.`
        : `only ${metadata['available']} of ${title} are left.`;
    case 'PRICE_CHANGED':
      return `the price of ${title} is now ${money(BigInt(metadata['unit_price_cents']!))}.`;
    case 'PRODUCT_NOT_FOUND':
      return `${title} is no longer sold.`;
    case 'CLIENT_REQUEST_ID_CONFLICT':
      return 'this purchase was begun in another session. If that was yours, look for the order there.';
    case 'INVALID_REQUEST':
      return fieldViolations.map(({ field, description }) => `${field} ${description}`).join('; ');
    default:
      return reason;
  }
}
