import assert from 'node:assert/strict';
import { createRegistry, fromBinary, type Message, toJson } from '@bufbuild/protobuf';
import { type Client, Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { file_google_rpc_error_details } from '../../../gen/google/rpc/error_details_pb.ts';
import {
  file_ordersystem_order_v1_order_service,
  OrderService,
} from '../../../gen/ordersystem/order/v1/order_service_pb.ts';
import {
  file_ordersystem_stock_v1_stock_service,
  StockService,
} from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { createGrpcTransport } from '../../../runtime/rpc/transport.ts';
import { AUDIENCE, ISSUER, signed } from '../../support/issuer.ts';
import { as, newKey, type OrderNode, product, useSystem } from '../../support/system.ts';

interface Addresses {
  readonly address: string;
  readonly httpAddress: string | null;
}

const ends: (() => void)[] = [];
const grpc = ({ address }: Addresses): Transport => {
  const transport = createGrpcTransport({ target: address });
  ends.push(() => transport.close());
  return transport;
};
const http = ({ httpAddress }: Addresses, httpVersion: '1.1' | '2') => ({
  baseUrl: `http://${httpAddress}`,
  httpVersion,
});
const httpDoors: Record<string, (to: Addresses) => Transport> = {
  'Connect JSON over HTTP/1.1': (to) => createConnectTransport({ ...http(to, '1.1'), useBinaryFormat: false }),
  'Connect binary over HTTP/2': (to) => createConnectTransport(http(to, '2')),
  'Connect by GET where it can be': (to) =>
    createConnectTransport({ ...http(to, '1.1'), useHttpGet: true, useBinaryFormat: false }),
  'gRPC-Web over HTTP/1.1': (to) => createGrpcWebTransport(http(to, '1.1')),
  'gRPC-Web JSON over HTTP/2': (to) => createGrpcWebTransport({ ...http(to, '2'), useBinaryFormat: false }),
};

const SECRET = 'a secret of two and thirty bytes';

const registry = createRegistry(
  file_google_rpc_error_details,
  file_ordersystem_order_v1_order_service,
  file_ordersystem_stock_v1_stock_service,
);

/** All that a caller is told: the answer, or the error with its details. */
async function toldBy(call: Promise<Message>): Promise<unknown> {
  try {
    const answer = await call;
    return toJson(registry.getMessage(answer.$typeName)!, answer);
  } catch (reason) {
    const { code, rawMessage, details } = ConnectError.from(reason);
    const shown = details.map((detail) => {
      assert.ok('type' in detail);
      return toJson(registry.getMessage(detail.type)!, fromBinary(registry.getMessage(detail.type)!, detail.value));
    });
    return { code: Code[code], rawMessage, details: shown };
  }
}

describe('every door', () => {
  const system = useSystem();
  let node: OrderNode;
  let cutOff: OrderNode;

  before(async () => {
    const HTTP_LISTEN_ADDRESS = '127.0.0.1:0';
    node = await system.orderNode({ HTTP_LISTEN_ADDRESS, HTTP_CORS_ORIGINS: 'https://shop.example' });
    cutOff = await system.orderNode({ HTTP_LISTEN_ADDRESS });
    cutOff.sql.refuse();
  });
  after(() => ends.splice(0).forEach((end) => end()));

  /** The order cannot be read until the call is over. */
  async function stuck<T>(call: () => Promise<T>): Promise<T> {
    const held = node.sql.hold(/FROM t_order o/);
    return call().finally(() => held.release());
  }

  /** The same story at one door, told with the same names for what differs. */
  async function storyAt(door: (to: Addresses) => Transport): Promise<Record<string, unknown>> {
    const [orders, broken] = [node, cutOff].map((one) => createClient(OrderService, door(one))) as [Orders, Orders];
    const tea = await product(system, 10n);
    const clientRequestId = newKey();
    const cart = { clientRequestId, items: [{ productId: tea, quantity: 2n, unitPriceCents: 250n }] };
    const one = { productId: tea, quantity: 1n };
    const order = await orders.createOrder(cart, as(42));
    const orderNo = order.order!.orderNo;
    const told = {
      create: await toldBy(Promise.resolve(order)),
      repeat: await toldBy(orders.createOrder(cart, as(42))),
      'another cart': await toldBy(orders.createOrder({ ...cart, items: [one] }, as(42))),
      'another user': await toldBy(orders.createOrder(cart, as(43))),
      'wrong fields': await toldBy(
        orders.createOrder({ clientRequestId: 'a b', items: [{ ...one, quantity: 0n }] }, as(42)),
      ),
      'unknown product': await toldBy(orders.createOrder({ items: [{ ...one, productId: 10n ** 17n }] }, as(42))),
      'too little stock': await toldBy(orders.createOrder({ items: [{ ...one, quantity: 11n }] }, as(42))),
      'changed price': await toldBy(orders.createOrder({ items: [{ ...one, unitPriceCents: 1n }] }, as(42))),
      'no user': await toldBy(orders.createOrder(cart)),
      read: await toldBy(orders.getOrder({ orderNo }, as(42))),
      'no such order': await toldBy(orders.getOrder({ orderNo: '1' }, as(42))),
      'wrong order number': await toldBy(orders.getOrder({ orderNo: 'x' }, as(42))),
      'what became of it': await toldBy(orders.getOrderByClientRequestId({ clientRequestId }, as(42))),
      'what became of nothing': await toldBy(orders.getOrderByClientRequestId({ clientRequestId: newKey() }, as(42))),
      'out of time': await toldBy(stuck(() => orders.getOrder({ orderNo }, as(42)))),
      'database away': await toldBy(broken.getOrder({ orderNo }, as(42))),
    };
    const { createTime } = (told.read as { order: { createTime: string } }).order;
    const text = JSON.stringify(told)
      .replaceAll(orderNo, 'ORDER')
      .replaceAll(clientRequestId, 'KEY')
      .replaceAll(createTime, 'TIME')
      .replaceAll(new RegExp(`([Pp]roduct |"product_?[Ii]d":")${tea}\\b`, 'g'), '$1TEA');
    return JSON.parse(text) as Record<string, unknown>;
  }

  let asToldByGrpc: Record<string, unknown>;

  it('tells the story: the gRPC port', async () => {
    asToldByGrpc = await storyAt(grpc);
    const reasons = Object.entries(asToldByGrpc).map(([what, told]) => {
      const { details } = told as { details?: { reason?: string }[] };
      return [what, details?.[0]?.reason ?? 'OK'];
    });
    assert.deepEqual(Object.fromEntries(reasons), {
      create: 'OK',
      repeat: 'OK',
      'another cart': 'CLIENT_REQUEST_ID_CONFLICT',
      'another user': 'CLIENT_REQUEST_ID_CONFLICT',
      'wrong fields': 'INVALID_REQUEST',
      'unknown product': 'PRODUCT_NOT_FOUND',
      'too little stock': 'INSUFFICIENT_STOCK',
      'changed price': 'PRICE_CHANGED',
      'no user': 'UNAUTHENTICATED',
      read: 'OK',
      'no such order': 'ORDER_NOT_FOUND',
      'wrong order number': 'INVALID_REQUEST',
      'what became of it': 'OK',
      'what became of nothing': 'OK',
      'out of time': 'DEADLINE_EXCEEDED',
      'database away': 'SERVICE_UNAVAILABLE',
    });
    assert.equal((asToldByGrpc['repeat'] as { replayed?: boolean }).replayed, true);
  });

  for (const [name, door] of Object.entries(httpDoors)) {
    it(`tells the story word for word as the gRPC port does: ${name}`, async () => {
      assert.deepEqual(await storyAt(door), asToldByGrpc);
    });
  }

  it('knows a caller by his token, and believes no header beside it', async () => {
    const token = await signed({ sub: '42' }, { alg: 'HS256' }, Buffer.from(SECRET));
    const bearer = { authorization: `Bearer ${token}` };
    const env = { HTTP_LISTEN_ADDRESS: '127.0.0.1:0', JWT_SECRET: SECRET, JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE };
    const known = await system.orderNode(env);
    const tell = async (door: (to: Addresses) => Transport) => {
      const orders = createClient(OrderService, door(known));
      const ask = (headers: Record<string, string>) =>
        toldBy(orders.getOrderByClientRequestId({ clientRequestId: 'k' }, { headers }));
      return [
        await ask(bearer),
        await ask({ 'x-user-id': '42' }),
        await ask({ ...bearer, 'x-user-id': '43' }),
        await ask({}),
      ];
    };
    const byGrpc = await tell(grpc);
    const codes = byGrpc.map((told) => (told as { code?: string }).code);
    assert.deepEqual(codes, [undefined, 'Unauthenticated', 'Unauthenticated', 'Unauthenticated']);
    for (const [name, door] of Object.entries(httpDoors)) assert.deepEqual(await tell(door), byGrpc, name);
  });

  it('lets the pages call that are configured', async () => {
    const headers = { origin: 'https://shop.example', 'access-control-request-method': 'POST' };
    const { headers: answer } = await fetch(`http://${node.httpAddress}/`, { method: 'OPTIONS', headers });
    assert.equal(answer.get('access-control-allow-origin'), 'https://shop.example');
  });

  it('of stock-svc tells the same', async () => {
    const productId = await product(system, 3n);
    const addresses = { address: system.stockAddress, httpAddress: system.stockHttpAddress };
    const tell = async (door: (to: Addresses) => Transport) => {
      const stock = createClient(StockService, door(addresses));
      return [
        await toldBy(stock.getStock({ productIds: [productId] })),
        await toldBy(stock.getStock({ productIds: [10n ** 17n] })),
        await toldBy(stock.deduct({ orderNo: '', items: [] })),
      ];
    };
    const byGrpc = await tell(grpc);
    assert.deepEqual((byGrpc[0] as { stocks: { available: string }[] }).stocks[0]?.available, '3');
    for (const [name, door] of Object.entries(httpDoors)) assert.deepEqual(await tell(door), byGrpc, name);
  });
});

type Orders = Client<typeof OrderService>;
