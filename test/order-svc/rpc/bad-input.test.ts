import assert from 'node:assert/strict';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import type { CreateOrderRequestSchema } from '../../../gen/ordersystem/order/v1/order_service_pb.ts';
import { errorInfoOf } from '../../../runtime/rpc/errors.ts';
import { failsWith } from '../../support/expect.ts';
import { as, availableOf, newKey, type OrderNode, product, useSystem } from '../../support/system.ts';

type Request = MessageInitShape<typeof CreateOrderRequestSchema>;

describe('CreateOrder with bad input touches nothing', () => {
  const system = useSystem();
  let node: OrderNode;
  let tea: bigint;

  before(async () => {
    node = await system.orderNode();
    tea = await product(system, 10n);
  });
  afterEach(async () => {
    assert.equal(await system.orderDb.Order.count(), 0);
    assert.equal(await system.orderDb.OrderClaim.count(), 0);
    assert.equal(await system.orderDb.EventRecord.count(), 0);
    assert.equal(await availableOf(system, tea), 10n);
    assert.equal(await system.stockDb.StockDeduction.count(), 0);
  });

  const fieldsOf = (error: ConnectError) =>
    error.findDetails(BadRequestSchema).flatMap((bad) => bad.fieldViolations.map((violation) => violation.field));
  const item = (change: object = {}) => ({ productId: tea, quantity: 1n, ...change });
  const lines = (count: number) => Array.from({ length: count }, () => item());

  const wrongFields: [string, () => Request, string[]][] = [
    ['no items', () => ({}), ['items']],
    ['more than 100 lines', () => ({ items: lines(101) }), ['items']],
    ['quantity 0', () => ({ items: [item({ quantity: 0n })] }), ['items[0].quantity']],
    ['a negative quantity', () => ({ items: [item(), item({ quantity: -1n })] }), ['items[1].quantity']],
    ['quantity over 1,000,000', () => ({ items: [item({ quantity: 1_000_001n })] }), ['items[0].quantity', 'items']],
    [
      'a product over 1,000,000 on two lines',
      () => ({ items: lines(2).map(() => item({ quantity: 600_000n })) }),
      ['items'],
    ],
    ['product_id 0', () => ({ items: [item({ productId: 0n })] }), ['items[0].product_id']],
    ['a negative product_id', () => ({ items: [item({ productId: -5n })] }), ['items[0].product_id']],
    ['a negative price', () => ({ items: [item({ unitPriceCents: -1n })] }), ['items[0].unit_price_cents']],
    [
      'an absurd price',
      () => ({ items: [item({ unitPriceCents: 10n ** 12n })] }),
      ['items[0].unit_price_cents', 'items'],
    ],
    [
      'a total over DECIMAL(12,2)',
      () => ({ items: [item({ quantity: 2n, unitPriceCents: 999_999_999_999n })] }),
      ['items'],
    ],
    ['a key of 65 bytes', () => ({ clientRequestId: 'k'.repeat(65), items: [item()] }), ['client_request_id']],
    ['a key with a space', () => ({ clientRequestId: 'k ', items: [item()] }), ['client_request_id']],
    ['a key with an accent', () => ({ clientRequestId: 'clé', items: [item()] }), ['client_request_id']],
    ['a key with a line feed', () => ({ clientRequestId: 'k\n', items: [item()] }), ['client_request_id']],
    [
      'all of it wrong',
      () => ({ clientRequestId: ' ', items: [item({ productId: 0n, quantity: 0n })] }),
      ['client_request_id', 'items[0].product_id', 'items[0].quantity'],
    ],
  ];
  for (const [what, request, fields] of wrongFields) {
    it(`${what}: INVALID_REQUEST names ${fields.join(', ')}`, async () => {
      const error = await failsWith(node.client.createOrder(request(), as(1)), 'INVALID_REQUEST');
      assert.deepEqual(fieldsOf(error), fields);
      assert.equal(errorInfoOf(error)!.metadata['retry'], 'never');
    });
  }

  const refusals: [string, () => Request, string, () => Record<string, string>][] = [
    [
      'an unknown product',
      () => ({ items: [item(), item({ productId: 10n ** 17n })] }),
      'PRODUCT_NOT_FOUND',
      () => ({
        product_id: String(10n ** 17n),
      }),
    ],
    [
      'too little stock',
      () => ({ items: [item({ quantity: 11n })] }),
      'INSUFFICIENT_STOCK',
      () => ({
        product_id: String(tea),
        asked: '11',
        available: '10',
      }),
    ],
    [
      'too little stock for two lines of one product',
      () => ({ items: [item({ quantity: 6n }), item({ quantity: 5n })] }),
      'INSUFFICIENT_STOCK',
      () => ({ product_id: String(tea), asked: '11', available: '10' }),
    ],
    [
      'a changed price',
      () => ({ items: [item(), item({ unitPriceCents: 249n })] }),
      'PRICE_CHANGED',
      () => ({
        product_id: String(tea),
        unit_price_cents: '250',
      }),
    ],
  ];
  for (const [what, request, reason, metadata] of refusals) {
    for (const clientRequestId of [newKey(), undefined]) {
      it(`${what}: ${reason} ${clientRequestId ? 'with' : 'without'} a key`, async () => {
        const error = await failsWith(node.client.createOrder({ ...request(), clientRequestId }, as(1)), reason);
        assert.deepEqual(errorInfoOf(error)!.metadata, { ...metadata(), retry: 'new_key' });
      });
    }
  }

  it('a total over DECIMAL(12,2) that only the products’ prices show: TOTAL_TOO_LARGE', async () => {
    const gold = await product(system, 10n, 999_999_999_999n);
    const error = await failsWith(
      node.client.createOrder({ items: [item({ productId: gold, quantity: 2n })] }, as(1)),
      'TOTAL_TOO_LARGE',
    );
    assert.deepEqual(fieldsOf(error), ['items']);
  });

  const users = {
    missing: undefined,
    zero: '0',
    negative: '-1',
    'not a number': 'me',
    'too large': '9223372036854775808',
    two: '1, 2',
  };
  for (const [what, user] of Object.entries(users)) {
    it(`a user that is ${what}: UNAUTHENTICATED, at every RPC`, async () => {
      const options = { headers: user === undefined ? {} : { 'x-user-id': user } };
      await failsWith(node.client.createOrder({ items: [item()] }, options), 'UNAUTHENTICATED');
      await failsWith(node.client.getOrder({ orderNo: '1' }, options), 'UNAUTHENTICATED');
      await failsWith(node.client.getOrderByClientRequestId({ clientRequestId: 'k' }, options), 'UNAUTHENTICATED');
      await failsWith(node.client.listOrders({}, options), 'UNAUTHENTICATED');
      await failsWith(node.client.payOrder({ orderNo: '1', paymentNo: 'p' }, options), 'UNAUTHENTICATED');
      await failsWith(node.client.cancelOrder({ orderNo: '1' }, options), 'UNAUTHENTICATED');
    });
  }
});
