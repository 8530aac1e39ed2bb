import type { Order, PurchaseItem } from 'ordersystem-cloud';
import type { Checkout } from './checkout.ts';
import { money, type Product } from './products.ts';

const $ = <E extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as E;

/** Says how it stands, to eyes and to screen readers. */
export function say(kind: 'busy' | 'unknown' | 'refused' | 'ordered', text: string): void {
  const status = $('status');
  status.className = kind;
  status.textContent = text;
}

/** Shows the cart; it can be changed unless there may be an order of it. */
export function showCart({ phase, intent }: Checkout, products: readonly Product[]): void {
  const open = phase !== 'ordering';
  $('cart').hidden = false;
  $('ordered').hidden = true;
  $('heading').textContent = 'Your cart';
  $<HTMLFieldSetElement>('lines').disabled = !open;
  $('products').replaceChildren(...products.map((product) => productRow(product, piecesIn(intent.items, product))));
  showTotal(open ? readCart(products) : intent.items);
  labelButton(open ? 'Submit order' : 'Submitting…');
}

/** Shows what the cart comes to, and lets it be submitted when there is something in it. */
export function showTotal(items: readonly PurchaseItem[]): void {
  const cents = items.reduce((sum, { quantity, unitPriceCents }) => sum + quantity * (unitPriceCents ?? 0n), 0n);
  $('total').textContent = money(cents);
  $<HTMLButtonElement>('submit').disabled = items.length === 0;
}

export function labelButton(text: string): void {
  $('submit').textContent = text;
}

/** The cart that the form shows, at the prices that it shows. */
export function readCart(products: readonly Product[]): PurchaseItem[] {
  return products.flatMap(({ productId, unitPriceCents }) => {
    const pieces = Number($<HTMLInputElement>(`pieces-${productId}`).value);
    return Number.isSafeInteger(pieces) && pieces > 0 ? [{ productId, quantity: BigInt(pieces), unitPriceCents }] : [];
  });
}

/** Shows the order, in the place of the cart. */
export function showOrder({ orderNo, items, totalAmountCents }: Order): void {
  $('cart').hidden = true;
  $('ordered').hidden = false;
  $('heading').textContent = 'Thank you';
  $('order-no').textContent = orderNo;
  $('items').replaceChildren(
    ...items.map(({ quantity, title, unitPriceCents }) =>
      element('li', `${quantity} × ${title}, ${money(unitPriceCents)} each`),
    ),
  );
  $('order-total').textContent = money(totalAmountCents);
  say('ordered', 'Your order was placed.');
  $('heading').focus();
}

function productRow({ productId, title, unitPriceCents }: Product, pieces: bigint): HTMLTableRowElement {
  const row = document.createElement('tr');
  const name = element('th', title);
  name.scope = 'row';
  const input = document.createElement('input');
  Object.assign(input, { id: `pieces-${productId}`, type: 'number', min: '0', max: '1000', value: String(pieces) });
  input.setAttribute('aria-label', `Pieces of ${title}`);
  const cell = document.createElement('td');
  cell.append(input);
  row.append(name, element('td', money(unitPriceCents)), cell);
  return row;
}

function piecesIn(items: readonly PurchaseItem[], product: Product): bigint {
  return items.find(({ productId }) => productId === product.productId)?.quantity ?? 0n;
}

function element<T extends keyof HTMLElementTagNameMap>(tag: T, text: string): HTMLElementTagNameMap[T] {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}
