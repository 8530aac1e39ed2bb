import { randomBytes, randomUUID } from 'node:crypto';
import type { Caller, Json, Service } from './caller.ts';

/** Cents of one piece of every product that the checks make. */
export const PRICE = 250;

/** What the checks stand on: they make what they need through the services, and look into nothing else. */
export class World {
  /** By which the services know the caller. */
  readonly headers: Readonly<Record<Service, Readonly<Record<string, string>>>>;
  readonly #caller: Caller;
  readonly #taken: string[] = [];

  constructor(caller: Caller, headers: World['headers']) {
    this.#caller = caller;
    this.headers = headers;
  }

  /** A call that has to succeed. */
  async call(service: Service, method: string, request: Json): Promise<Json> {
    const answer = await this.#caller.call({ service, method, request, headers: this.headers[service] });
    if ('error' in answer) throw new Error(`cannot prepare: ${method} failed: ${JSON.stringify(answer.error)}`);
    return answer.response;
  }

  /** An order_no to take stock for at stock-svc, without an order: `giveBack` has to follow. */
  orderNo(): string {
    const orderNo = newNumber();
    this.#taken.push(orderNo);
    return orderNo;
  }

  /** Gives back what was taken for no order: an audit of the deployment finds nothing wrong afterwards. */
  async giveBack(): Promise<void> {
    for (const orderNo of this.#taken.splice(0)) await this.call('stock', 'Restore', { orderNo });
  }

  /** A new product. Returns its id. */
  async product({ available = 100, cents = PRICE } = {}): Promise<string> {
    const productId = newProductId();
    await this.call('stock', 'PutProducts', { products: [{ productId, title: 'Contract', unitPriceCents: cents }] });
    const items = [{ productId, quantity: available }];
    if (available > 0) await this.call('stock', 'ReceiveStock', { receiptNo: newNumber(), items });
    return productId;
  }

  /** An order of one piece, without a key. Returns its number. */
  async order(): Promise<string> {
    const items = [{ productId: await this.product(), quantity: 1 }];
    const { order } = await this.call('order', 'CreateOrder', { items });
    return (order as { orderNo: string }).orderNo;
  }

  async paidOrder(): Promise<{ orderNo: string; paymentNo: string }> {
    const orderNo = await this.order();
    const paymentNo = newNumber();
    await this.call('order', 'PayOrder', { orderNo, paymentNo, amountCents: PRICE });
    return { orderNo, paymentNo };
  }

  async cancelledOrder(): Promise<string> {
    const orderNo = await this.order();
    await this.call('order', 'CancelOrder', { orderNo });
    return orderNo;
  }
}

/** Over 2^53, so that a caller who makes a double of it has another product. Odd, as a double so large never is. */
export function newProductId(): string {
  return String((randomBytes(8).readBigUInt64BE() >> 2n) | (1n << 61n) | 1n);
}

export function newNumber(): string {
  return randomUUID().replaceAll('-', '');
}
