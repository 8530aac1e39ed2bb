import type { Json, Service } from './caller.ts';
import { newNumber, newProductId, PRICE, type World } from './world.ts';

/** One RPC that succeeds, and the JSON of its answer, to the last field. */
export interface GoodCase {
  readonly service: Service;
  readonly method: string;
  readonly title: string;
  /** Prepares, and says what to send and what has to come back. */
  prepare(world: World): Promise<{ request: Json; answer: Json }>;
}

/** In a golden answer: any text that matches. */
export const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/;
export const ORDER_NO = /^[1-9]\d{0,18}$/;
export const TOKEN = /^[\w-]+$/;

const line = (productId: string, quantity = '2') => ({
  productId,
  quantity,
  title: 'Contract',
  unitPriceCents: String(PRICE),
});

function good(service: Service, method: string, title: string, prepare: GoodCase['prepare']): GoodCase {
  return { service, method, title, prepare };
}

export const goodCases: readonly GoodCase[] = [
  good('stock', 'PutProducts', 'makes a product', async () => ({
    request: { products: [{ productId: newProductId(), title: 'Contract', unitPriceCents: '250' }] },
    answer: {},
  })),
  good('stock', 'ReceiveStock', 'takes a receipt again', async (world) => {
    const request = { receiptNo: newNumber(), items: [{ productId: await world.product(), quantity: '3' }] };
    await world.call('stock', 'ReceiveStock', request);
    return { request, answer: { replayed: true } };
  }),
  good('stock', 'GetStock', 'reads a product', async (world) => {
    const productId = await world.product();
    const { title, unitPriceCents } = line(productId);
    return {
      request: { productIds: [productId] },
      answer: { stocks: [{ productId, title, unitPriceCents, available: '100' }] },
    };
  }),
  good('stock', 'Deduct', 'takes again what was taken', async (world) => {
    const productId = await world.product();
    const request = { orderNo: world.orderNo(), items: [{ productId, quantity: '2', unitPriceCents: '250' }] };
    await world.call('stock', 'Deduct', request);
    return { request, answer: { items: [line(productId)], replayed: true } };
  }),
  good('stock', 'BatchDeduct', 'takes for one order, and not for another', async (world) => {
    const productId = await world.product();
    const [taken, tooMuch] = ['2', '999'].map((quantity) => ({
      orderNo: world.orderNo(),
      items: [{ productId, quantity }],
    }));
    const failure = {
      code: 9,
      reason: 'INSUFFICIENT_STOCK',
      message: /./,
      metadata: { product_id: productId, asked: '999', available: '98', retry: 'new_key' },
    };
    return {
      request: { deductions: [taken, tooMuch] },
      answer: { results: [{ deducted: { items: [line(productId)] } }, { failure }] },
    };
  }),
  good('stock', 'Restore', 'gives back', async (world) => {
    const [productId, orderNo] = [await world.product(), world.orderNo()];
    await world.call('stock', 'Deduct', { orderNo, items: [{ productId, quantity: '2' }] });
    return { request: { orderNo }, answer: { items: [{ productId, quantity: '2' }] } };
  }),
  good('order', 'CreateOrder', 'makes an order again', async (world) => {
    const [productId, clientRequestId] = [await world.product(), newNumber()];
    const request = { clientRequestId, items: [{ productId, quantity: '2', unitPriceCents: '250' }] };
    await world.call('order', 'CreateOrder', request);
    return { request, answer: { order: { ...waiting(productId), clientRequestId }, replayed: true } };
  }),
  good('order', 'GetOrder', 'reads an order that has no key', async (world) => {
    const { orderNo, productId } = await bought(world);
    return { request: { orderNo }, answer: { order: { ...waiting(productId), orderNo } } };
  }),
  good('order', 'GetOrderByClientRequestId', 'says what became of a key', async (world) => {
    const clientRequestId = newNumber();
    const { productId } = await bought(world, clientRequestId);
    const order = { ...waiting(productId), clientRequestId };
    return { request: { clientRequestId }, answer: { state: 'INTENT_STATE_CREATED', order } };
  }),
  good('order', 'ListOrders', 'lists the newest order, and more to come', async (world) => {
    await world.order();
    const { orderNo, productId } = await bought(world);
    return {
      request: { status: 'ORDER_STATUS_WAIT_PAY', pageSize: 1 },
      answer: { orders: [{ ...waiting(productId), orderNo }], nextPageToken: TOKEN },
    };
  }),
  good('order', 'PayOrder', 'pays', async (world) => {
    const [{ orderNo, productId }, paymentNo] = [await bought(world), newNumber()];
    const paid = { ...waiting(productId), orderNo, status: 'ORDER_STATUS_PAID', payTime: TIME, paymentNo };
    return { request: { orderNo, paymentNo, amountCents: '500' }, answer: { order: paid } };
  }),
  good('order', 'CancelOrder', 'cancels', async (world) => {
    const { orderNo, productId } = await bought(world);
    const cancelled = {
      status: 'ORDER_STATUS_CANCELLED',
      cancelTime: TIME,
      cancelledBy: 'CANCELLED_BY_USER',
      cancelReason: '不要了 – no longer wanted',
    };
    const order = { ...waiting(productId), orderNo, ...cancelled };
    return { request: { orderNo, reason: cancelled.cancelReason }, answer: { order } };
  }),
];

/** An order of two pieces that was just made. */
function waiting(productId: string) {
  return {
    orderNo: ORDER_NO,
    status: 'ORDER_STATUS_WAIT_PAY',
    items: [line(productId)],
    totalAmountCents: '500',
    createTime: TIME,
  };
}

async function bought(world: World, clientRequestId?: string): Promise<{ orderNo: string; productId: string }> {
  const productId = await world.product();
  const { order } = await world.call('order', 'CreateOrder', {
    ...(clientRequestId !== undefined && { clientRequestId }),
    items: [{ productId, quantity: '2' }],
  });
  return { orderNo: (order as { orderNo: string }).orderNo, productId };
}
