import { create, fromJson, type JsonObject, type JsonValue, toJson } from '@bufbuild/protobuf';
import { type CreateOrderRequest, CreateOrderRequestSchema } from '../gen/ordersystem/order/v1/order_service_pb.ts';

/** One line of a cart. */
export interface PurchaseItem {
  /** The product. Greater than 0. */
  productId: bigint;
  /** Pieces to buy: 1 to 1,000,000. */
  quantity: bigint;
  /**
   * The price of one piece that the user was shown, in cents. When it is no longer the product's price, there is no order but a
   * PurchaseError `PRICE_CHANGED`. Left out: whatever the price is.
   */
  unitPriceCents?: bigint | undefined;
}

/** Of the saved form. A later one may have to be read differently. */
const VERSION = 1;
const KEY_PATTERN = /^[A-Za-z0-9._:-]{1,64}$/;

/** A request with a key of its own, and a copy of these items. Frozen. */
export function newRequest(items: readonly PurchaseItem[]): CreateOrderRequest {
  const request = create(CreateOrderRequestSchema, { clientRequestId: crypto.randomUUID(), items: [...items] });
  // By way of JSON, which copies and checks.
  return frozenRequest(toJson(CreateOrderRequestSchema, request));
}

/** The request as it is saved: the JSON of the contract, with a version. */
export function saveRequest(request: CreateOrderRequest): JsonObject {
  return { version: VERSION, ...(toJson(CreateOrderRequestSchema, request) as JsonObject) };
}

/** The request that was saved. Frozen. */
export function readRequest(saved: unknown): CreateOrderRequest {
  if (typeof saved !== 'object' || saved === null) throw unreadable('must be an object');
  const { version, ...rest } = saved as JsonObject;
  if (version !== VERSION) throw unreadable(`version must be ${VERSION}, was ${JSON.stringify(version)}`);
  let request;
  try {
    request = frozenRequest(rest);
  } catch (cause) {
    throw unreadable((cause as Error).message, cause);
  }
  // Without a key it would be one more order each time that it is sent.
  if (!KEY_PATTERN.test(request.clientRequestId ?? ''))
    throw unreadable('clientRequestId must be 1 to 64 of A-Z a-z 0-9 . _ : -');
  return request;
}

function frozenRequest(json: JsonValue): CreateOrderRequest {
  const request = fromJson(CreateOrderRequestSchema, json);
  request.items.forEach(Object.freeze);
  Object.freeze(request.items);
  return Object.freeze(request);
}

function unreadable(why: string, cause?: unknown): Error {
  return new Error(`not a saved purchase intent: ${why}`, { cause });
}
