/** A line of a cart: which of the two products, and how many. */
export type Cart = readonly { readonly product: 0 | 1; readonly quantity: number }[];

/** Cents. */
export const UNIT_PRICE = 250;
/** Pieces of each product at the start: they run out. */
export const STOCK = 6;

export interface ModelOrder {
  readonly user: number;
  readonly key: string | undefined;
  readonly cart: Cart;
  readonly total: number;
  /** As it was answered first. */
  orderNo: string;
  state: 'WAIT_PAY' | 'PAID' | 'CANCELLED';
  paymentNo?: string;
  cancelledBy?: 'USER' | 'EXPIRY';
  reason?: string;
}

/** What a call is answered with: an order, or the reason of an error. */
export type Expected = { readonly order: ModelOrder; readonly replayed: boolean } | string;

/** The promise of OrderService in plain words: what each call does when no other is at work, and nothing ever fails. */
export class ModelShop {
  /** Oldest first. */
  readonly orders: ModelOrder[] = [];
  readonly stock = [STOCK, STOCK];
  readonly #payments = new Map<string, { order: ModelOrder; amount: number }>();

  create(user: number, key: string | undefined, cart: Cart): Expected {
    const known = key === undefined ? undefined : this.orders.find((order) => order.key === key);
    if (known) {
      const same = known.user === user && sorted(known.cart) === sorted(cart);
      return same ? { order: known, replayed: true } : 'CLIENT_REQUEST_ID_CONFLICT';
    }
    if (cart.some(({ product, quantity }) => this.stock[product]! < quantity)) return 'INSUFFICIENT_STOCK';
    this.#move(cart, -1);
    const total = cart.reduce((sum, { quantity }) => sum + quantity * UNIT_PRICE, 0);
    const order: ModelOrder = { user, key, cart, total, orderNo: '', state: 'WAIT_PAY' };
    this.orders.push(order);
    return { order, replayed: false };
  }

  pay(user: number, order: ModelOrder, paymentNo: string, amount: number): Expected {
    if (order.user !== user) return 'ORDER_NOT_FOUND';
    const bound = this.#payments.get(paymentNo);
    if (bound && (bound.order !== order || bound.amount !== amount)) return 'PAYMENT_NO_REUSED';
    if (bound && order.paymentNo === paymentNo) return { order, replayed: true };
    if (order.state === 'WAIT_PAY' && order.total !== amount) return 'AMOUNT_MISMATCH';
    this.#payments.set(paymentNo, { order, amount });
    if (order.state !== 'WAIT_PAY') return order.state === 'PAID' ? 'ORDER_ALREADY_PAID' : 'ORDER_NOT_PAYABLE';
    Object.assign(order, { state: 'PAID', paymentNo });
    return { order, replayed: false };
  }

  cancel(user: number, order: ModelOrder, reason: string | undefined): Expected {
    if (order.user !== user) return 'ORDER_NOT_FOUND';
    if (order.state === 'PAID') return 'ORDER_NOT_CANCELLABLE';
    if (order.state === 'CANCELLED') return { order, replayed: true };
    Object.assign(order, { state: 'CANCELLED', cancelledBy: 'USER', reason });
    this.#move(order.cart, 1);
    return { order, replayed: false };
  }

  /** All that are not paid. */
  expire(): void {
    for (const order of this.orders.filter(({ state }) => state === 'WAIT_PAY')) {
      Object.assign(order, { state: 'CANCELLED', cancelledBy: 'EXPIRY' });
      this.#move(order.cart, 1);
    }
  }

  get(user: number, order: ModelOrder): Expected {
    return order.user === user ? { order, replayed: false } : 'ORDER_NOT_FOUND';
  }

  byKey(user: number, key: string): ModelOrder | undefined {
    return this.orders.find((order) => order.key === key && order.user === user);
  }

  /** Newest first. */
  list(user: number, state?: ModelOrder['state']): ModelOrder[] {
    return this.orders
      .filter((order) => order.user === user && (state === undefined || order.state === state))
      .toReversed();
  }

  #move(cart: Cart, sign: 1 | -1): void {
    for (const { product, quantity } of cart) this.stock[product]! += sign * quantity;
  }
}

/** The same for the same cart, in whatever order its lines are. */
function sorted(cart: Cart): string {
  return cart
    .map(({ product, quantity }) => `${product}x${quantity}`)
    .sort()
    .join();
}
