import assert from 'node:assert/strict';
import { type Order, OrderStatus, CancelledBy } from '../../gen/ordersystem/order/v1/order_pb.ts';
import { IntentState } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { expireOnce } from '../../order-svc/life/expiry.ts';
import { reapOnce } from '../../order-svc/saga/reaper.ts';
import { silentLogger } from '../../runtime/lifecycle/logger.ts';
import { errorInfoOf, reasonOf } from '../../runtime/rpc/errors.ts';
import { loseAnswer, loseRequest } from '../support/stock-edge.ts';
import { as, availableOf, expireClaims, type OrderNode, product, relay, type System } from '../support/system.ts';
import { type Cart, type ModelOrder, STOCK, UNIT_PRICE } from './promise.ts';

/** What goes wrong during one call. */
export const faults = [
  'COMMIT is lost',
  "COMMIT's answer is lost",
  'a statement is lost',
  "a statement's answer is lost",
  "Deduct's request is lost",
  "Deduct's answer is lost",
  'the database goes away at COMMIT',
  'the database goes away after COMMIT',
] as const;
export type Fault = (typeof faults)[number];

const COMMIT = /COMMIT/;
const STATEMENT = /INSERT|UPDATE|DELETE|FOR UPDATE/;
const statuses = { WAIT_PAY: OrderStatus.WAIT_PAY, PAID: OrderStatus.PAID, CANCELLED: OrderStatus.CANCELLED };

/** What a call was answered with: an order, or the reason of an error and what a repeat can do. */
export type Answer = { order: Order; replayed: boolean } | { reason: string; retry: string | undefined };

let lastRun = 0;

/** The system as one run of the model sees it: its own users, keys, payments and products. */
export class RealShop {
  readonly #system: System;
  readonly #node: OrderNode;
  readonly #products: readonly bigint[];
  readonly #run = ++lastRun;

  private constructor(system: System, node: OrderNode, products: readonly bigint[]) {
    this.#system = system;
    this.#node = node;
    this.#products = products;
  }

  static async open(system: System, node: OrderNode): Promise<RealShop> {
    const shelf = () => product(system, BigInt(STOCK), BigInt(UNIT_PRICE));
    return new RealShop(system, node, [await shelf(), await shelf()]);
  }

  create(user: number, key: string | undefined, cart: Cart): Promise<Answer> {
    const items = cart.map((line) => ({ productId: this.#products[line.product]!, quantity: BigInt(line.quantity) }));
    const clientRequestId = key === undefined ? undefined : this.#own(key);
    return answerOf(this.#node.client.createOrder({ clientRequestId, items }, this.#as(user)));
  }

  pay(user: number, { orderNo }: ModelOrder, paymentNo: string, amount: number): Promise<Answer> {
    const payment = { orderNo, paymentNo: this.#own(paymentNo), amountCents: BigInt(amount) };
    return answerOf(this.#node.client.payOrder(payment, this.#as(user)));
  }

  cancel(user: number, { orderNo }: ModelOrder, reason: string): Promise<Answer> {
    return answerOf(this.#node.client.cancelOrder({ orderNo, reason }, this.#as(user)));
  }

  get(user: number, { orderNo }: ModelOrder): Promise<Answer> {
    const found = this.#node.client.getOrder({ orderNo }, this.#as(user));
    return answerOf(found.then(({ order }) => ({ order, replayed: false })));
  }

  /** Undefined: not found. */
  async byKey(user: number, key: string): Promise<Order | undefined> {
    const question = { clientRequestId: this.#own(key) };
    const { state, order } = await patiently(() =>
      this.#node.client.getOrderByClientRequestId(question, this.#as(user)),
    );
    assert.equal(state, order ? IntentState.CREATED : IntentState.NOT_FOUND);
    return order;
  }

  /** All pages. */
  async list(user: number, state: ModelOrder['state'] | undefined, pageSize: number): Promise<Order[]> {
    const all: Order[] = [];
    let pageToken = '';
    do {
      const query = { status: state && statuses[state], pageSize, pageToken };
      const { orders, nextPageToken } = await patiently(() => this.#node.client.listOrders(query, this.#as(user)));
      assert.ok(orders.length <= pageSize, `${orders.length} orders on a page of ${pageSize}`);
      all.push(...orders);
      pageToken = nextPageToken;
    } while (pageToken !== '');
    return all;
  }

  /** All orders that are not paid, of this run and of any other. */
  async expire(): Promise<void> {
    while (await expireOnce(this.#system.orderDb, -60_000, silentLogger));
    await this.settle();
  }

  async available(): Promise<number[]> {
    return Promise.all(this.#products.map(async (id) => Number(await availableOf(this.#system, id))));
  }

  /** Makes the call while something goes wrong, and all well again afterwards. */
  async under(fault: Fault, call: () => Promise<Answer>): Promise<Answer> {
    const { sql, edge } = this.#node;
    const after = fault.includes('answer') || fault.includes('after');
    let reached: Promise<void> | undefined;
    if (fault.startsWith('Deduct')) edge.deducts.push(after ? loseAnswer : loseRequest);
    else {
      const pattern = fault.includes('COMMIT') ? COMMIT : STATEMENT;
      reached = after ? sql.cutAfter(pattern) : sql.cutBefore(pattern);
    }
    let over = false;
    // What is hit may be another's statement, and the call over before.
    if (fault.startsWith('the database')) void reached!.then(() => over || sql.refuse());
    const answer = await call();
    over = true;
    sql.forget();
    sql.allow();
    edge.deducts.splice(0);
    await this.recover();
    return answer;
  }

  /** What was broken off is cleared up, as it is after a while. */
  async recover(): Promise<void> {
    await expireClaims(this.#system);
    await this.settle();
  }

  /** Stock that is owed is back. */
  async settle(): Promise<void> {
    await reapOnce(this.#system.orderDb, silentLogger);
    await relay(this.#system);
  }

  /** Fails unless the order that was answered is the one of the model. */
  check(order: Order | undefined, expected: ModelOrder): void {
    if (expected.orderNo === '') expected.orderNo = order!.orderNo;
    const { orderNo, clientRequestId, status, totalAmountCents, paymentNo, cancelledBy, cancelReason, items } = order!;
    const found = { orderNo, clientRequestId, status, totalAmountCents, paymentNo, cancelledBy, cancelReason };
    assert.deepEqual(found, {
      orderNo: expected.orderNo,
      clientRequestId: expected.key && this.#own(expected.key),
      status: statuses[expected.state],
      totalAmountCents: BigInt(expected.total),
      paymentNo: expected.paymentNo && this.#own(expected.paymentNo),
      cancelledBy: CancelledBy[expected.cancelledBy ?? 'UNSPECIFIED'],
      cancelReason: expected.reason,
    });
    const cart = items.map(({ productId, quantity }) => [productId, Number(quantity)]);
    assert.deepEqual(
      cart,
      expected.cart.map((line) => [this.#products[line.product], line.quantity]),
    );
  }

  #own(name: string): string {
    return `run-${this.#run}-${name}`;
  }

  #as(user: number) {
    return as(this.#run * 100 + user, { timeoutMs: 5000 });
  }
}

/** Reads again when the connection that it was to use had been lost before. */
async function patiently<T>(read: () => Promise<T>): Promise<T> {
  for (let i = 0; ; i++) {
    try {
      return await read();
    } catch (error) {
      if (i === 20 || reasonOf(error) !== 'SERVICE_UNAVAILABLE') throw error;
    }
  }
}

async function answerOf(call: Promise<{ order?: Order | undefined; replayed: boolean }>): Promise<Answer> {
  try {
    const { order, replayed } = await call;
    return { order: order!, replayed };
  } catch (error) {
    const info = errorInfoOf(error);
    if (!info) throw error;
    return { reason: info.reason, retry: info.metadata['retry'] };
  }
}
