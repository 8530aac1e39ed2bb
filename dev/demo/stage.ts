import { randomUUID } from 'node:crypto';
import { Code, ConnectError } from '@connectrpc/connect';
import { reasonOf } from '../../runtime/rpc/errors.ts';
import type { Numbers } from './check-numbers.ts';
import type { Shop } from './shop.ts';

/** What a shop sells. */
export interface Product {
  readonly productId: bigint;
  readonly title: string;
  readonly unitPriceCents: bigint;
}

/** What a caller was told. */
export type Answer = { orderNo: string; replayed: boolean } | { refused: string };

export interface Purchase {
  userId?: number;
  quantity?: number;
  timeoutMs?: number;
}

/** One scene's callers, and what they found wrong. */
export class Stage {
  readonly shop: Shop;
  readonly product: Product;
  readonly print: (line: string) => void;
  readonly wrong: string[] = [];
  requests = 0;
  readonly #keys: string[] = [];

  constructor(shop: Shop, product: Product, print: (line: string) => void) {
    this.shop = shop;
    this.product = product;
    this.print = print;
  }

  /** A user decides to buy: the key of this intent. */
  newKey(): string {
    const key = randomUUID();
    this.#keys.push(key);
    return key;
  }

  /** One CreateOrder, of two pieces unless it says otherwise. */
  async buy(key: string, { userId = 42, quantity = 2, timeoutMs = 5_000 }: Purchase = {}): Promise<Answer> {
    this.requests++;
    const { productId, unitPriceCents } = this.product;
    const items = [{ productId, quantity: BigInt(quantity), unitPriceCents }];
    try {
      const { order, replayed } = await this.shop.orders.createOrder(
        { clientRequestId: key, items },
        { headers: { 'x-user-id': String(userId) }, timeoutMs },
      );
      return { orderNo: order?.orderNo ?? '', replayed };
    } catch (error) {
      if (error instanceof ConnectError) return { refused: reasonOf(error) ?? Code[error.code] };
      throw error;
    }
  }

  expect(right: boolean, otherwise: string): void {
    if (!right) this.wrong.push(otherwise);
  }

  /** All were given the same order, which one of them made. */
  expectOneOrder(answers: readonly Answer[]): void {
    const orders = new Set(answers.map((answer) => ('orderNo' in answer ? answer.orderNo : answer.refused)));
    const made = answers.filter((answer) => 'orderNo' in answer && !answer.replayed).length;
    this.expect(orders.size === 1, `the callers were told ${[...orders].join(', ')}`);
    this.expect(made === 1, `${made} callers were told that theirs was the first`);
  }

  /** He was told that the key is another request's, and nothing of that. */
  expectConflict(answer: Answer): void {
    const told = 'refused' in answer ? answer.refused : `order ${answer.orderNo}`;
    this.expect(told === 'CLIENT_REQUEST_ID_CONFLICT', `told ${told}, should be CLIENT_REQUEST_ID_CONFLICT`);
  }

  /** Pieces that can be sold, as stock-svc says. */
  async available(): Promise<number> {
    const { stocks } = await this.shop.stock.getStock({ productIds: [this.product.productId] });
    return Number(stocks[0]?.available);
  }

  /** Claims of this scene's keys: attempts that are at work, or whose process died. */
  claims(): Promise<{ order_no: string; expire_time: Date }[]> {
    return this.shop.orderDb.OrderClaim.findAll({ where: { client_request_id: this.#storedKeys() }, raw: true });
  }

  /** What both databases say, besides the stock before. */
  async numbers(): Promise<Omit<Numbers, 'stockBefore'>> {
    const { orderDb, stockDb } = this.shop;
    const product = { product_id: String(this.product.productId) };
    return {
      orders: await orderDb.Order.count({ where: { client_request_id: this.#storedKeys() } }),
      ordersOfProduct: await orderDb.OrderItem.count({ where: product, distinct: true, col: 'order_no' }),
      stockAfter: await this.available(),
      ledger: await stockDb.StockRecord.findAll({ where: product, raw: true }),
    };
  }

  #storedKeys(): Buffer[] {
    return this.#keys.map((key) => Buffer.from(key));
  }
}
