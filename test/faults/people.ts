import { setTimeout as sleep } from 'node:timers/promises';
import { type CallOptions, type Client, Code, ConnectError, createClient } from '@connectrpc/connect';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { RetryInfoSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { errorInfoOf } from '../../runtime/rpc/errors.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';
import type { World } from './world.ts';

type Shop = Client<typeof OrderService>;
type Call = (client: Shop, options: CallOptions) => Promise<unknown>;

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
  /** What anybody was told that became of the order. */
  readonly told: Set<'PAID' | 'CANCELLED'>;
}

interface Failure {
  reason: string;
  retry: string;
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
  /** How often somebody was told SERVICE_UNAVAILABLE. */
  unavailable = 0;
  /** Each request goes to both order-svc at the same time, the same bytes. */
  sendTwice = false;
  readonly #clients: Shop[];
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
      told: new Set(),
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
    await this.#decide(intent);
    return intent;
  }

  /** Pays, cancels, both at once, or neither: then the order expires. Some pay when it has. */
  async #decide(intent: Intent): Promise<void> {
    const [orderNo] = intent.orderNos;
    if (orderNo === undefined) return;
    const wish = this.#random();
    if (wish < 0.05) await sleep(1500);
    const pays = wish < 0.4 ? [this.#pay(intent, orderNo)] : [];
    const cancels = wish > 0.3 && wish < 0.6 ? [this.#cancel(intent, orderNo)] : [];
    await Promise.all([...pays, ...cancels]);
  }

  async #pay(intent: Intent, orderNo: string): Promise<void> {
    const payment = { orderNo, paymentNo: `p-${orderNo}`, amountCents: intent.quantity * 250n };
    const outcome = await this.#untilTold(intent, (client, options) => client.payOrder(payment, options));
    if (outcome === undefined || outcome === 'ORDER_NOT_PAYABLE') intent.told.add(outcome ? 'CANCELLED' : 'PAID');
    else this.violations.push(`${intent.key}: paying ${orderNo} was answered with ${outcome}`);
  }

  async #cancel(intent: Intent, orderNo: string): Promise<void> {
    const outcome = await this.#untilTold(intent, (client, options) => client.cancelOrder({ orderNo }, options));
    if (outcome === undefined || outcome === 'ORDER_NOT_CANCELLABLE') intent.told.add(outcome ? 'PAID' : 'CANCELLED');
    else this.violations.push(`${intent.key}: cancelling ${orderNo} was answered with ${outcome}`);
  }

  /** Sends the same again, to any node, until it is an order or is refused. */
  async #untilFinal(intent: Intent): Promise<void> {
    const refused = await this.#untilTold(intent, (client, options) => this.#create(intent, client, options));
    if (refused !== undefined) intent.refused = refused;
  }

  /** Once, with no patience. */
  async #submit(intent: Intent, timeoutMs: number): Promise<void> {
    const outcome = await this.#ask(intent, timeoutMs, (client, options) => this.#create(intent, client, options));
    if (outcome && outcome.retry !== 'same_key') intent.refused = outcome.reason;
  }

  async #create({ key, productId, quantity, orderNos }: Intent, client: Shop, options: CallOptions): Promise<void> {
    const request = { clientRequestId: key, items: [{ productId, quantity }] };
    orderNos.add((await client.createOrder(request, options)).order!.orderNo);
  }

  async #expectConflict(other: Intent): Promise<void> {
    // A refused intent has freed its key.
    if (other.orderNos.size === 0) return;
    const own = { ...other, orderNos: new Set<string>() };
    const outcome = await this.#untilTold(other, (client, options) => this.#create(own, client, options));
    if (outcome !== 'CLIENT_REQUEST_ID_CONFLICT') {
      this.violations.push(`${other.key}: somebody else was told ${outcome ?? [...own.orderNos].join()}`);
    }
  }

  /** Calls again and again. Undefined: it was done. Else the reason with which it was refused for good. */
  async #untilTold(intent: Intent, call: Call): Promise<string | undefined> {
    for (const end = performance.now() + 60_000; performance.now() < end;) {
      const failure = await this.#ask(intent, 1000, call);
      if (failure?.retry !== 'same_key') return failure?.reason;
      await sleep(20 + this.#random() * 100);
    }
    this.violations.push(`${intent.key}: no answer within a minute`);
    return 'NO_ANSWER';
  }

  /** One call of one node, or of each. Undefined: it was done. */
  async #ask(intent: Intent, timeoutMs: number, call: Call): Promise<Failure | undefined> {
    const nodes = this.sendTwice ? this.#clients : [this.#pick(this.#clients)];
    const failures = await Promise.all(nodes.map((node) => this.#askNode(node, intent, timeoutMs, call)));
    if (failures.includes(undefined)) return undefined;
    return failures.find((failure) => failure!.retry === 'same_key') ?? failures[0];
  }

  async #askNode(node: Shop, { key, userId }: Intent, timeoutMs: number, call: Call): Promise<Failure | undefined> {
    this.requests++;
    try {
      await call(node, { headers: { 'x-user-id': String(userId) }, timeoutMs });
      return undefined;
    } catch (error) {
      const info = errorInfoOf(error);
      if (info) {
        if (info.reason === 'INTERNAL') this.violations.push(`${key}: INTERNAL`);
        if (info.reason === 'SERVICE_UNAVAILABLE') {
          this.unavailable++;
          const says = (error as ConnectError).findDetails(RetryInfoSchema).length > 0;
          if (!says) this.violations.push(`${key}: SERVICE_UNAVAILABLE, and not when to come again`);
        }
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
