import type { JsonObject } from '@bufbuild/protobuf';
import { type CallOptions, type Client, Code, ConnectError } from '@connectrpc/connect';
import type { Order } from '../gen/ordersystem/order/v1/order_pb.ts';
import {
  type CreateOrderRequest,
  IntentState,
  type OrderService,
} from '../gen/ordersystem/order/v1/order_service_pb.ts';
import { fullJitterMs } from '../runtime/lifecycle/backoff.ts';
import { sleep } from '../runtime/lifecycle/sleep.ts';
import { receivedError } from '../runtime/rpc/errors.ts';
import { PurchaseError } from './purchase-error.ts';
import { newRequest, type PurchaseItem, readRequest, saveRequest } from './saved-intent.ts';

// What a caller names beside the intent.
export { type Order, PurchaseError, type PurchaseItem };

/** How one `submit` goes about it. Times in milliseconds. */
export interface SubmitOptions {
  /** Go with every request: `x-user-id` or `authorization`, where the client does not send them itself. */
  headers?: Record<string, string>;
  /** Aborted: stops trying. What has been sent may still become an order. */
  signal?: AbortSignal;
  /** How long to try. Default 30,000. */
  timeoutMs?: number;
  /** The longest that one request may take before it counts as lost. Default 5,000. */
  attemptTimeoutMs?: number;
  /** Is told how it goes, each time that it changes. */
  onProgress?: (progress: Progress) => void;
}

/** How a `submit` goes: the request is on its way; it has no answer that settles it, so after a while comes another; here is the order. */
export type Progress =
  | { readonly state: 'submitting' }
  | { readonly state: 'waiting'; readonly because: PurchaseError }
  | { readonly state: 'done'; readonly order: Order };

/** Upper bounds of the waits between two requests; the service's own RetryInfo counts when it is longer. */
const BACKOFF = { baseMs: 200, maxMs: 3_000 };

/**
 * One decision of a user to buy one cart, which becomes at most one order.
 *
 * It holds the cart, and the key (`client_request_id`) by which order-svc knows repeats of the same decision. The key is made with the
 * intent, once, and cannot be given or changed; neither can the cart. So whatever is submitted again, by a second click, after a
 * lost answer, after a reload, is the same request. Another cart is another intent: make a new one.
 */
export class PurchaseIntent {
  readonly #request: CreateOrderRequest;
  #order: Promise<Order> | undefined;

  private constructor(request: CreateOrderRequest) {
    this.#request = request;
  }

  /**
   * The intent to buy these items, which are copied. Save it (see `toJSON`) before it is submitted, where a reload, a second tab or a
   * process that starts again finds it. In a browser this needs a secure context: https, or localhost.
   *
   * @throws Error that names the field, when it cannot be sent, such as a `productId` that is no bigint. What can be sent and not be
   * bought, an empty cart or 0 pieces, is for the service to refuse.
   */
  static create(items: readonly PurchaseItem[]): PurchaseIntent {
    return new PurchaseIntent(newRequest(items));
  }

  /**
   * The intent that was saved, with the same key and the same cart.
   *
   * @param saved what `JSON.parse` makes of the saved text.
   * @throws Error that names the field, when it is no saved intent, or one of a later version.
   */
  static fromJSON(saved: unknown): PurchaseIntent {
    return new PurchaseIntent(readRequest(saved));
  }

  /** What to save: `JSON.stringify(intent)` calls it. Plain JSON, int64 as text. */
  toJSON(): JsonObject {
    return saveRequest(this.#request);
  }

  /** The key of the intent: a UUID. */
  get clientRequestId(): string {
    return this.#request.clientRequestId!;
  }

  /** The cart. Frozen. */
  get items(): readonly Readonly<PurchaseItem>[] {
    return this.#request.items;
  }

  /**
   * Makes the order of this intent, or finds the one that it has become.
   *
   * Call it as often as you like. While one is at work, another joins it, and its options do not count; once there is an order, it
   * gives that order as it was when it was made. When a request has no answer, or one that settles nothing, it waits, asks what became of
   * the intent, and sends the same request again where nothing did, until its time is over.
   *
   * @param client of `connectOrderService` or `createOrderClient`.
   * @throws PurchaseError, and nothing else. Its `settled` says whether the intent can be forgotten.
   */
  submit(client: Client<typeof OrderService>, options: SubmitOptions = {}): Promise<Order> {
    this.#order ??= this.#settle(client, options).catch((error: unknown) => {
      this.#order = undefined;
      throw error;
    });
    return this.#order;
  }

  async #settle(client: Client<typeof OrderService>, options: SubmitOptions): Promise<Order> {
    const { headers, signal, timeoutMs = 30_000, attemptTimeoutMs = 5_000, onProgress } = options;
    const end = performance.now() + timeoutMs;
    const limits = () => ({ headers, signal, timeoutMs: Math.min(attemptTimeoutMs, end - performance.now()) });
    // In a turn of its own: a fault of the listener is none of the purchase.
    const tell = (progress: Progress) => onProgress && queueMicrotask(() => onProgress(progress));

    for (let failures = 0; ; failures++) {
      try {
        let order = failures > 0 ? await this.#find(client, limits()) : undefined;
        if (!order) {
          tell({ state: 'submitting' });
          order = await this.#send(client, limits());
        }
        tell({ state: 'done', order });
        return order;
      } catch (reason) {
        const because = new PurchaseError(reason);
        if (because.advice !== 'same_key') throw because;
        const waitMs = Math.max(because.retryAfterMs, fullJitterMs(failures, BACKOFF));
        if (performance.now() + waitMs >= end) throw because;
        tell({ state: 'waiting', because });
        await sleep(waitMs, signal).catch((cause: unknown) => {
          throw new PurchaseError(new ConnectError('submit was cancelled', Code.Canceled, undefined, undefined, cause));
        });
      }
    }
  }

  async #send(client: Client<typeof OrderService>, call: CallOptions): Promise<Order> {
    const { order } = await client.createOrder(this.#request, call);
    if (!order) throw new ConnectError('the answer holds no order', Code.Internal);
    return order;
  }

  /** Undefined: nothing came of what was sent before, so it can be sent again. */
  async #find(client: Client<typeof OrderService>, call: CallOptions): Promise<Order | undefined> {
    const { clientRequestId } = this;
    const { state, order } = await client.getOrderByClientRequestId({ clientRequestId }, call);
    if (state !== IntentState.IN_PROGRESS) return order;
    const [reason, message] = ['REQUEST_IN_PROGRESS', 'this intent is at work'];
    throw receivedError({ code: Code.Aborted, reason, message, metadata: { retry: 'same_key' } });
  }
}
