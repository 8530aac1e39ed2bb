import type { Json, Service } from './caller.ts';
import { newNumber, newProductId, PRICE, type World } from './world.ts';

/** The code and the advice of each reason that can be provoked from outside: the contract, once more, by hand. */
export const reasons = {
  INVALID_REQUEST: [3, 'never'],
  REQUEST_TOO_LARGE: [8, 'never'],
  UNAUTHENTICATED: [16, 'never'],
  DEADLINE_EXCEEDED: [4, 'same_key'],
  PRODUCT_NOT_FOUND: [5, 'new_key'],
  INSUFFICIENT_STOCK: [9, 'new_key'],
  PRICE_CHANGED: [9, 'new_key'],
  TOTAL_TOO_LARGE: [3, 'new_key'],
  ORDER_NO_REUSED: [3, 'new_key'],
  ORDER_CLOSED: [10, 'new_key'],
  RECEIPT_NO_REUSED: [3, 'new_key'],
  CLIENT_REQUEST_ID_CONFLICT: [3, 'new_key'],
  ORDER_NOT_FOUND: [5, 'never'],
  ORDER_ALREADY_PAID: [9, 'never'],
  ORDER_NOT_PAYABLE: [9, 'never'],
  ORDER_NOT_CANCELLABLE: [9, 'never'],
  AMOUNT_MISMATCH: [9, 'never'],
  PAYMENT_NO_REUSED: [3, 'new_key'],
} as const satisfies Record<string, readonly [code: number, retry: string]>;

/** Why the others are not here: what a caller alone cannot bring about, or should not. */
export const unprovoked: Readonly<Record<string, string>> = {
  PERMISSION_DENIED: 'needs a token without the scope',
  SERVICE_UNAVAILABLE: 'needs a database or a service that is away',
  OVERLOADED: 'needs a load that the deployment cannot carry',
  CANCELLED: 'nobody is left to hear it',
  INTERNAL: 'needs a fault of the service',
  REQUEST_IN_PROGRESS: 'needs a request that is held up at work',
  ATTEMPT_EXPIRED: 'needs a request that is held up at work',
};

/** What the refusal says beyond its reason. */
export interface Refused {
  readonly request: Json;
  /** ErrorInfo.metadata but for `retry`. Default: nothing. */
  readonly metadata?: Json;
  /** The fields that BadRequest names. Default: there is no BadRequest. */
  readonly fields?: readonly string[];
}

export interface RefusalCase {
  readonly service: Service;
  readonly method: string;
  readonly reason: keyof typeof reasons;
  readonly title: string;
  /** Without what says who calls. */
  readonly anonymous?: boolean;
  readonly timeoutMs?: number;
  /** Needs products, which are made through stock-svc. */
  readonly stock: boolean;
  prepare(world: World): Promise<Refused>;
}

type Prepare = RefusalCase['prepare'];
type Extra = Partial<Pick<RefusalCase, 'anonymous' | 'timeoutMs'>>;

function refused(rpc: string, reason: RefusalCase['reason'], title: string, how: Prepare | Refused, extra: Extra = {}) {
  const [service, method] = rpc.split('.') as [Service, string];
  const stock = service === 'stock' || typeof how === 'function';
  const prepare: Prepare = typeof how === 'function' ? how : () => Promise.resolve(how);
  return { service, method, reason, title, stock, prepare, ...extra } satisfies RefusalCase;
}

const nowhere = { orderNo: '1' };
const payment = { paymentNo: 'contract', amountCents: '250' };
const longText = 'x'.repeat(1_100_000);
const cart = (productId: string, quantity = 1) => ({ items: [{ productId, quantity }] });

export const refusals: readonly RefusalCase[] = [
  refused('order.GetOrder', 'UNAUTHENTICATED', 'a caller who names no user', { request: nowhere }, { anonymous: true }),
  refused('order.GetOrder', 'DEADLINE_EXCEEDED', 'a deadline that is over', { request: nowhere }, { timeoutMs: 0 }),
  refused('order.CancelOrder', 'REQUEST_TOO_LARGE', 'over 1 MiB', { request: { orderNo: '1', reason: longText } }),

  refused('order.CreateOrder', 'INVALID_REQUEST', 'each field that is wrong', {
    request: { clientRequestId: 'no spaces', items: [{ productId: '0', quantity: '0', unitPriceCents: '-1' }] },
    fields: ['client_request_id', 'items[0].product_id', 'items[0].quantity', 'items[0].unit_price_cents'],
  }),
  refused('order.CreateOrder', 'INVALID_REQUEST', 'no items', { request: {}, fields: ['items'] }),
  refused('order.GetOrder', 'INVALID_REQUEST', 'no number', { request: { orderNo: 'x' }, fields: ['order_no'] }),
  refused('order.GetOrderByClientRequestId', 'INVALID_REQUEST', 'no key', {
    request: {},
    fields: ['client_request_id'],
  }),
  refused('order.ListOrders', 'INVALID_REQUEST', 'less than no orders', {
    request: { pageSize: -1 },
    fields: ['page_size'],
  }),
  refused('order.ListOrders', 'INVALID_REQUEST', 'a token of nobody', {
    request: { pageToken: 'x' },
    fields: ['page_token'],
  }),
  refused('order.PayOrder', 'INVALID_REQUEST', 'each field that is wrong', {
    request: { orderNo: 'x', amountCents: '-1' },
    fields: ['order_no', 'payment_no', 'amount_cents'],
  }),
  refused('order.CancelOrder', 'INVALID_REQUEST', 'each field that is wrong', {
    request: { orderNo: 'x', reason: 'x'.repeat(257) },
    fields: ['order_no', 'reason'],
  }),

  refused('order.GetOrder', 'ORDER_NOT_FOUND', 'no such order', { request: nowhere }),
  refused('order.PayOrder', 'ORDER_NOT_FOUND', 'no such order', { request: { ...nowhere, ...payment } }),
  refused('order.CancelOrder', 'ORDER_NOT_FOUND', 'no such order', { request: nowhere }),

  refused('order.CreateOrder', 'PRODUCT_NOT_FOUND', 'no such product', () => {
    const productId = newProductId();
    return Promise.resolve({ request: cart(productId), metadata: { product_id: productId } });
  }),
  refused('order.CreateOrder', 'INSUFFICIENT_STOCK', 'more than there is', async (world) => {
    const productId = await world.product({ available: 3 });
    return { request: cart(productId, 4), metadata: { product_id: productId, asked: '4', available: '3' } };
  }),
  refused('order.CreateOrder', 'PRICE_CHANGED', 'another price', async (world) => {
    const productId = await world.product();
    return {
      request: { items: [{ productId, quantity: 1, unitPriceCents: '1' }] },
      metadata: { product_id: productId, unit_price_cents: String(PRICE) },
    };
  }),
  refused('order.CreateOrder', 'TOTAL_TOO_LARGE', 'over the largest total', async (world) => {
    const productId = await world.product({ cents: 999_999_999_999 });
    return { request: cart(productId, 2), fields: ['items'] };
  }),
  refused('order.CreateOrder', 'CLIENT_REQUEST_ID_CONFLICT', 'an edited cart', async (world) => {
    const [clientRequestId, productId] = [newNumber(), await world.product()];
    await world.call('order', 'CreateOrder', { clientRequestId, ...cart(productId) });
    return { request: { clientRequestId, ...cart(productId, 2) }, fields: ['client_request_id'] };
  }),
  refused('order.PayOrder', 'AMOUNT_MISMATCH', 'another amount', async (world) => ({
    request: { orderNo: await world.order(), paymentNo: newNumber(), amountCents: '1' },
    metadata: { amount_cents: '1', total_amount_cents: String(PRICE) },
  })),
  refused('order.PayOrder', 'ORDER_ALREADY_PAID', 'a second payment', async (world) => {
    const { orderNo } = await world.paidOrder();
    return { request: { orderNo, paymentNo: newNumber(), amountCents: PRICE } };
  }),
  refused('order.PayOrder', 'ORDER_NOT_PAYABLE', 'a cancelled order', async (world) => ({
    request: { orderNo: await world.cancelledOrder(), paymentNo: newNumber(), amountCents: PRICE },
  })),
  refused('order.PayOrder', 'PAYMENT_NO_REUSED', 'a payment of another order', async (world) => {
    const { paymentNo } = await world.paidOrder();
    return { request: { orderNo: await world.order(), paymentNo, amountCents: PRICE }, fields: ['payment_no'] };
  }),
  refused('order.CancelOrder', 'ORDER_NOT_CANCELLABLE', 'a paid order', async (world) => {
    const { orderNo } = await world.paidOrder();
    return { request: { orderNo } };
  }),

  refused('stock.PutProducts', 'REQUEST_TOO_LARGE', 'over 1 MiB', { request: { products: [{ title: longText }] } }),
  refused('stock.GetStock', 'DEADLINE_EXCEEDED', 'a deadline that is over', { request: {} }, { timeoutMs: 0 }),
  refused('stock.PutProducts', 'INVALID_REQUEST', 'each field that is wrong', {
    request: { products: [{ title: ' ', unitPriceCents: '-1' }] },
    fields: ['products[0].product_id', 'products[0].title', 'products[0].unit_price_cents'],
  }),
  refused('stock.ReceiveStock', 'INVALID_REQUEST', 'each field that is wrong', {
    request: { items: [{}] },
    fields: ['receipt_no', 'items[0].product_id', 'items[0].quantity'],
  }),
  refused('stock.GetStock', 'INVALID_REQUEST', 'no products', { request: {}, fields: ['product_ids'] }),
  refused('stock.Deduct', 'INVALID_REQUEST', 'each field that is wrong', {
    request: { orderNo: 'x y', items: [] },
    fields: ['order_no', 'items'],
  }),
  refused('stock.BatchDeduct', 'INVALID_REQUEST', 'no deductions', { request: {}, fields: ['deductions'] }),
  refused('stock.Restore', 'INVALID_REQUEST', 'no number', { request: {}, fields: ['order_no'] }),
  refused('stock.GetStock', 'PRODUCT_NOT_FOUND', 'no such product', () => {
    const productId = newProductId();
    return Promise.resolve({ request: { productIds: [productId] }, metadata: { product_id: productId } });
  }),
  refused('stock.ReceiveStock', 'PRODUCT_NOT_FOUND', 'no such product', () => {
    const productId = newProductId();
    return Promise.resolve({
      request: { receiptNo: newNumber(), ...cart(productId) },
      metadata: { product_id: productId },
    });
  }),
  refused('stock.ReceiveStock', 'RECEIPT_NO_REUSED', 'other goods', async (world) => {
    const [receiptNo, productId] = [newNumber(), await world.product()];
    await world.call('stock', 'ReceiveStock', { receiptNo, ...cart(productId) });
    return { request: { receiptNo, ...cart(productId, 2) }, fields: ['items'] };
  }),
  refused('stock.Deduct', 'PRODUCT_NOT_FOUND', 'no such product', (world) => {
    const productId = newProductId();
    return Promise.resolve({
      request: { orderNo: world.orderNo(), ...cart(productId) },
      metadata: { product_id: productId },
    });
  }),
  refused('stock.Deduct', 'INSUFFICIENT_STOCK', 'more than there is', async (world) => {
    const productId = await world.product({ available: 0 });
    return {
      request: { orderNo: world.orderNo(), ...cart(productId) },
      metadata: { product_id: productId, asked: '1', available: '0' },
    };
  }),
  refused('stock.Deduct', 'PRICE_CHANGED', 'another price', async (world) => {
    const productId = await world.product();
    return {
      request: { orderNo: world.orderNo(), items: [{ productId, quantity: 1, unitPriceCents: '1' }] },
      metadata: { product_id: productId, unit_price_cents: String(PRICE) },
    };
  }),
  refused('stock.Deduct', 'TOTAL_TOO_LARGE', 'over the largest total', async (world) => {
    const productId = await world.product({ cents: 999_999_999_999 });
    return { request: { orderNo: world.orderNo(), ...cart(productId, 2) }, fields: ['items'] };
  }),
  refused('stock.Deduct', 'ORDER_NO_REUSED', 'other items', async (world) => {
    const [orderNo, productId] = [world.orderNo(), await world.product()];
    await world.call('stock', 'Deduct', { orderNo, ...cart(productId) });
    return { request: { orderNo, ...cart(productId, 2) }, fields: ['items'] };
  }),
  refused('stock.Deduct', 'ORDER_CLOSED', 'after its Restore', async (world) => {
    const [orderNo, productId] = [world.orderNo(), await world.product()];
    await world.call('stock', 'Restore', { orderNo });
    return { request: { orderNo, ...cart(productId) } };
  }),
];
