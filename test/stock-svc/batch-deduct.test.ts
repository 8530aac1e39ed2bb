import assert from 'node:assert/strict';
import { Code, createClient } from '@connectrpc/connect';
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { type BatchDeductResult, StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { errorInfoOf } from '../../runtime/rpc/errors.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';
import { DEDUCTS, useBatchingSystem } from '../support/batches.ts';
import { failsWith } from '../support/expect.ts';
import { availableOf, movementsOf, product } from '../support/system.ts';

interface Deduction {
  orderNo: string;
  items: { productId: bigint; quantity: bigint; unitPriceCents?: bigint }[];
}

describe('BatchDeduct', () => {
  // There are no orders here for the audit to find: each test gives back what it took, before the audit runs.
  afterEach(async () => {
    const open = await system.stockDb.StockDeduction.findAll({ where: { state: 'DEDUCTED' }, raw: true });
    await Promise.all(open.map((header) => system.stock.restore({ orderNo: header.order_no })));
  });
  const system = useBatchingSystem();
  let last = 0;
  let tea: bigint;
  let cup: bigint;

  beforeEach(async () => ([tea, cup] = [await product(system, 5n, 250n), await product(system, 5n, 1999n)]));

  /** What a new order wants. */
  const wants = (productId: bigint, quantity = 1n, unitPriceCents?: bigint): Deduction => ({
    orderNo: `batch-${++last}`,
    items: [{ productId, quantity, ...(unitPriceCents !== undefined && { unitPriceCents }) }],
  });
  const deduct = async (...deductions: Deduction[]) => (await system.stock.batchDeduct({ deductions })).results;
  const told = ({ result }: BatchDeductResult) =>
    result.case === 'failure' ? result.value.reason : result.value?.replayed ? 'replayed' : result.case;

  it('answers each in order, and gives each what those before it have left', async () => {
    const sent = system.stockSql.seen(DEDUCTS);
    const results = await deduct(wants(tea, 2n), wants(cup, 9n), wants(tea, 2n, 250n), wants(tea, 2n), wants(tea));
    await sent;
    assert.deepEqual(results.map(told), [
      'deducted',
      'INSUFFICIENT_STOCK',
      'deducted',
      'INSUFFICIENT_STOCK',
      'deducted',
    ]);
    const failures = results.flatMap(({ result }) => (result.case === 'failure' ? [result.value] : []));
    assert.deepEqual(
      failures.map(({ code, metadata }) => [code, metadata]),
      [
        [Code.FailedPrecondition, { product_id: String(cup), asked: '9', available: '5', retry: 'new_key' }],
        [Code.FailedPrecondition, { product_id: String(tea), asked: '2', available: '1', retry: 'new_key' }],
      ],
    );
    const items = results.flatMap(({ result }) => (result.case === 'deducted' ? result.value.items : []));
    assert.deepEqual(
      items.map((item) => [item.productId, item.quantity, item.title, item.unitPriceCents]),
      [2n, 2n, 1n].map((quantity) => [tea, quantity, `Product ${tea}`, 250n]),
    );
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'DEDUCT 2', 'DEDUCT 2']);
    assert.deepEqual(await movementsOf(system, cup), []);
    assert.deepEqual([await availableOf(system, tea), await availableOf(system, cup)], [0n, 5n]);
  });

  it('gives a repeat the first answers, beside orders that are new', async () => {
    const [a, b] = [wants(tea, 3n), wants(cup)];
    const first = await deduct(a, b);
    const results = await deduct(b, wants(tea), a);
    assert.deepEqual(results.map(told), ['replayed', 'deducted', 'replayed']);
    const itemsOf = ({ result }: BatchDeductResult) => result.case === 'deducted' && result.value.items;
    assert.deepEqual([itemsOf(results[2]!), itemsOf(results[0]!)], first.map(itemsOf));
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'DEDUCT 3']);
    assert.deepEqual(await movementsOf(system, cup), ['DEDUCT 1']);
  });

  const bad: Record<string, () => Deduction | Promise<Deduction>> = {
    INSUFFICIENT_STOCK: () => wants(cup, 6n),
    PRICE_CHANGED: () => wants(cup, 1n, 2000n),
    PRODUCT_NOT_FOUND: () => wants(10n ** 15n),
    TOTAL_TOO_LARGE: async () => wants(await product(system, 2n, 999_999_999_999n), 2n),
    INVALID_REQUEST: () => wants(cup, 0n),
    async ORDER_NO_REUSED() {
      const used = wants(cup, 2n);
      await system.stock.deduct(used);
      return { ...wants(cup), orderNo: used.orderNo };
    },
    async ORDER_CLOSED() {
      const closed = wants(cup);
      await system.stock.restore({ orderNo: closed.orderNo });
      return closed;
    },
  };
  for (const [reason, make] of Object.entries(bad)) {
    it(`fails one of many with ${reason}, as its Deduct would have, and takes the others`, async () => {
      const odd = await make();
      const alone = await failsWith(system.stock.deduct(odd), reason);
      const results = await deduct(wants(tea), odd, wants(tea));
      assert.deepEqual(results.map(told), ['deducted', reason, 'deducted']);
      const { result } = results[1]!;
      assert.ok(result.case === 'failure');
      const { code, message, metadata } = result.value;
      assert.deepEqual([code, message, metadata], [alone.code, alone.rawMessage, errorInfoOf(alone)?.metadata]);
      assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'DEDUCT 1']);
    });
  }

  it('takes the stock of an order once that stands twice in one call', async () => {
    const twice = wants(tea, 3n);
    const results = await deduct(wants(cup), twice, twice, { ...wants(tea), orderNo: twice.orderNo });
    assert.deepEqual(results.map(told), ['deducted', 'deducted', 'replayed', 'ORDER_NO_REUSED']);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 3']);
    assert.deepEqual(await movementsOf(system, cup), ['DEDUCT 1']);
  });

  for (const count of [0, 257]) {
    it(`refuses a call with ${count} deductions, and takes nothing`, async () => {
      const error = await failsWith(deduct(...Array.from({ length: count }, () => wants(tea))), 'INVALID_REQUEST');
      const fields = error.findDetails(BadRequestSchema)[0]?.fieldViolations.map(({ field }) => field);
      assert.deepEqual(fields, ['deductions']);
      assert.deepEqual(await movementsOf(system, tea), []);
    });
  }

  it('takes 256 in one call, in batches of 64', async () => {
    const many = await product(system, 256n);
    const rows = /INSERT INTO t_stock_deduction [^(]*\([^)]*\)\s+VALUES \([^)]*\)(,\s*\([^)]*\)){63};/;
    const batches = [1, 2, 3, 4].map(() => system.stockSql.seen(rows));
    const results = await deduct(...Array.from({ length: 256 }, () => wants(many)));
    assert.deepEqual(new Set(results.map(told)), new Set(['deducted']));
    await Promise.all(batches);
    assert.equal(await availableOf(system, many), 0n);
  });

  for (const [what, lose, made] of [
    ['the statements', 'cutBefore', false],
    ['the answer', 'cutAfter', true],
  ] as const) {
    it(`fails the whole call with SERVICE_UNAVAILABLE when ${what} got lost; a repeat makes it whole`, async () => {
      const transport = createGrpcTransport({ target: system.stockAddress });
      const once = createClient(StockService, transport);
      const deductions = [wants(tea), wants(cup, 6n), wants(cup)];
      const lost = system.stockSql[lose](DEDUCTS);
      await failsWith(once.batchDeduct({ deductions }), 'SERVICE_UNAVAILABLE');
      await lost;
      const { results } = await once.batchDeduct({ deductions });
      const taken = made ? 'replayed' : 'deducted';
      assert.deepEqual(results.map(told), [taken, 'INSUFFICIENT_STOCK', taken]);
      assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
      assert.deepEqual(await movementsOf(system, cup), ['DEDUCT 1']);
      transport.close();
    });
  }
});
