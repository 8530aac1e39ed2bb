import { setTimeout as sleep } from 'node:timers/promises';
import { type Client, Code, ConnectError, createClient } from '@connectrpc/connect';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { errorInfoOf } from '../../runtime/rpc/errors.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';
import type { World } from './world.ts';

/** One purchase intent, and all that anybody was told of it. */
export interface Intent {
  readonly key: string;
  readonly userId: number;
  readonly productId: bigint;
  readonly quantity: bigint;
  /** Numbers that were answered to it. */
  readonly orderNos: Set<string>;
  /** What ended it without an order. */
  refused?: string;
}

/** What people may do with one intent. */
export type Manner = 'patient' | 'double-click' | 'gives-up' | 'other-cart' | 'other-user';
const manners: readonly Manner[] = ['patient', 'patient', 'double-click', 'gives-up', 'other-cart', 'other-user'];

/** Callers of both order-svc, who behave as people and gateways do. */
export class People {
  readonly intents: Intent[] = [];
  /** What no caller should ever be told. */
  readonly violations: string[] = [];
  requests = 0;
  readonly #clients: Client<typeof OrderService>[];
  readonly #transports: ReturnType<typeof createGrpcTransport>[];
  readonly #random: () => number;
  readonly #products: readonly bigint[];

  constructor(world: World, products: readonly bigint[], random: () => number) {
    this.#transports = world.orders.map(({ link }) => createGrpcTransport({ target: link.address }));
    this.#clients = this.#transports.map((transport) => createClient(OrderService, transport));
    this.#products = products;
    this.#random = random;
  }

  close(): void {
    for (const transport of this.#transports) transport.close();
  }

  /** So many people, who buy one thing after the other until they are told to stop, and wait for the last answer. */
  shop(people: number): { stop: () => Promise<void> } {
    let stopped = false;
    const one = async () => {
      while (!stopped) await this.buy(this.#pick(manners));
    };
    const all = Promise.all(Array.from({ length: people }, one));
    const stop = async () => {
      stopped = true;
      await all;
    };
    return { stop };
  }

  async buy(manner: Manner): Promise<Intent> {
    const intent: Intent = {
      key: `${this.intents.length}-${Math.floor(this.#random() * 1e12).toString(36)}`,
      userId: 1 + Math.floor(this.#random() * 1000),
      productId: this.#pick(this.#products),
      quantity: 1n + BigInt(Math.floor(this.#random() * 3)),
      orderNos: new Set(),
    };
    this.intents.push(intent);
    if (manner === 'double-click') await Promise.all([this.#untilFinal(intent), this.#untilFinal(intent)]);
    if (manner === 'gives-up') {
      await this.#submit(intent, 5 + this.#random() * 60);
      await sleep(this.#random() * 500);
    }
    await this.#untilFinal(intent);
    if (manner === 'other-cart') await this.#expectConflict({ ...intent, quantity: intent.quantity + 1n });
    if (manner === 'other-user') await this.#expectConflict({ ...intent, userId: intent.userId + 1 });
    return intent;
  }

  /** Sends the same again, to any node, until it is an order or is refused. */
  async #untilFinal(intent: Intent): Promise<void> {
    for (const end = performance.now() + 60_000; performance.now() < end;) {
      const final = await this.#submit(intent, 1000);
      if (final) return;
      await sleep(20 + this.#random() * 100);
    }
    this.violations.push(`${intent.key}: no answer within a minute`);
  }

  /** True: the answer is final. */
  async #submit(intent: Intent, timeoutMs: number): Promise<boolean> {
    const outcome = await this.#call(intent, timeoutMs);
    if ('orderNo' in outcome) intent.orderNos.add(outcome.orderNo);
    else if (outcome.retry === 'same_key') return false;
    else intent.refused = outcome.reason;
    return true;
  }

  async #expectConflict(other: Intent): Promise<void> {
    // A refused intent has freed its key.
    if (other.orderNos.size === 0) return;
    for (let i = 0; i < 100; i++) {
      const outcome = await this.#call(other, 1000);
      if ('orderNo' in outcome) this.violations.push(`${other.key}: somebody else got order ${outcome.orderNo}`);
      else if (outcome.retry === 'same_key') {
        await sleep(50);
        continue;
      } else if (outcome.reason !== 'CLIENT_REQUEST_ID_CONFLICT') {
        this.violations.push(`${other.key}: ${outcome.reason} instead of a conflict`);
      }
      return;
    }
  }

  async #call(
    { key, userId, productId, quantity }: Intent,
    timeoutMs: number,
  ): Promise<{ orderNo: string } | { reason: string; retry: string }> {
    this.requests++;
    const request = { clientRequestId: key, items: [{ productId, quantity }] };
    try {
      const { order } = await this.#pick(this.#clients).createOrder(request, {
        headers: { 'x-user-id': String(userId) },
        timeoutMs,
      });
      return { orderNo: order!.orderNo };
    } catch (error) {
      const info = errorInfoOf(error);
      if (info) {
        if (info.reason === 'INTERNAL') this.violations.push(`${key}: INTERNAL`);
        return { reason: info.reason, retry: info.metadata['retry'] ?? 'same_key' };
      }
      // Made by the caller's own grpc-js: no connection, or no answer in time.
      const code = ConnectError.from(error).code;
      if (![Code.Unavailable, Code.DeadlineExceeded, Code.Canceled, Code.Internal].includes(code)) {
        this.violations.push(`${key}: ${String(error)}`);
      }
      return { reason: Code[code], retry: 'same_key' };
    }
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)]!;
  }
}
