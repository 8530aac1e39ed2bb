import assert from 'node:assert/strict';
import { createClient } from '@connectrpc/connect';
import { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';
import { failsWith } from '../support/expect.ts';
import { holdRows, untilLocked } from '../support/row-locks.ts';
import { availableOf, movementsOf, product, useSystem } from '../support/system.ts';

const UPDATE = /UPDATE t_stock SET available = available - /;

describe('Deduct', () => {
  // There are no orders here for the audit to find: each test gives back what it took, before the audit runs.
  afterEach(async () => {
    const open = await system.stockDb.StockDeduction.findAll({ where: { state: 'DEDUCTED' }, raw: true });
    for (const header of open) await system.stock.restore({ orderNo: header.order_no });
  });
  const system = useSystem();
  let last = 0;
  let tea: bigint;
  let cup: bigint;
  let orderNo: string;

  beforeEach(async () => {
    [tea, cup] = [await product(system, 5n, 250n), await product(system, 5n, 1999n)];
    orderNo = `deduct-${++last}`;
  });
  const deduct = (...items: { productId: bigint; quantity: bigint; unitPriceCents?: bigint }[]) =>
    system.stock.deduct({ orderNo, items });

  it('takes all items, lines of one product summed, and answers with title and price in order of product', async () => {
    const answer = await deduct(
      { productId: cup, quantity: 1n },
      { productId: tea, quantity: 2n },
      { productId: cup, quantity: 2n },
    );
    assert.deepEqual(
      answer.items.map((item) => [item.productId, item.quantity, item.title, item.unitPriceCents]),
      [
        [tea, 2n, `Product ${tea}`, 250n],
        [cup, 3n, `Product ${cup}`, 1999n],
      ],
    );
    assert.equal(answer.replayed, false);
    assert.deepEqual([await availableOf(system, tea), await availableOf(system, cup)], [3n, 2n]);
  });

  it('takes nothing of any item when one is short', async () => {
    await failsWith(deduct({ productId: tea, quantity: 1n }, { productId: cup, quantity: 6n }), 'INSUFFICIENT_STOCK');
    assert.deepEqual([await availableOf(system, tea), await availableOf(system, cup)], [5n, 5n]);
    assert.deepEqual(await movementsOf(system, tea), []);
    assert.equal(await system.stockDb.StockDeduction.findByPk(orderNo), null);
  });

  it('gives a repeat the first answer, whatever has become of the product, even when nothing is left', async () => {
    const first = await deduct({ productId: tea, quantity: 5n, unitPriceCents: 250n });
    await system.stock.putProducts({ products: [{ productId: tea, title: 'New', unitPriceCents: 1n }] });
    for (const unitPriceCents of [250n, undefined]) {
      const repeat = await deduct({ productId: tea, quantity: 5n, ...(unitPriceCents && { unitPriceCents }) });
      assert.deepEqual(repeat, { ...first, replayed: true });
    }
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 5']);
  });

  it('refuses other items under a number that was used', async () => {
    await deduct({ productId: tea, quantity: 1n });
    await failsWith(deduct({ productId: tea, quantity: 2n }), 'ORDER_NO_REUSED');
    await failsWith(deduct({ productId: cup, quantity: 1n }), 'ORDER_NO_REUSED');
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
  });

  it('answers many at once under one number with one deduction', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => deduct({ productId: tea, quantity: 1n })));
    assert.equal(answers.filter((answer) => !answer.replayed).length, 1);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
  });

  it('waits for a Deduct of the same number that is not committed yet, and gets its answer', async () => {
    const { sequelize } = system.stockDb;
    const release = await holdRows(sequelize, 'SELECT 1 FROM t_stock WHERE product_id = ? FOR UPDATE', [tea]);
    const first = deduct({ productId: tea, quantity: 1n });
    await untilLocked(sequelize, 'SELECT 1 FROM t_stock_deduction WHERE order_no = ?', [orderNo]);
    const inserts = system.stockSql.seen(/INSERT INTO t_stock_deduction/);
    const second = deduct({ productId: tea, quantity: 1n });
    await inserts;
    await release();
    assert.deepEqual(await second, { ...(await first), replayed: true });
  });

  it('decides again when what it read no longer holds: the last piece is sold once', async () => {
    await system.stock.deduct({ orderNo: `${orderNo}-most`, items: [{ productId: tea, quantity: 4n }] });
    const held = system.stockSql.hold(UPDATE);
    const slow = deduct({ productId: tea, quantity: 1n });
    await held.reached;
    await system.stock.deduct({ orderNo: `${orderNo}-fast`, items: [{ productId: tea, quantity: 1n }] });
    held.release();
    await failsWith(slow, 'INSUFFICIENT_STOCK');
    assert.equal(await availableOf(system, tea), 0n);
  });

  it('takes the new price when it changes between reading and taking, and refuses the old one', async () => {
    for (const shown of [undefined, 250n]) {
      const held = system.stockSql.hold(UPDATE);
      const slow = system.stock.deduct({
        orderNo: `${orderNo}-${shown}`,
        items: [{ productId: tea, quantity: 1n, ...(shown && { unitPriceCents: shown }) }],
      });
      await held.reached;
      await system.stock.putProducts({
        products: [{ productId: tea, title: 'Tea', unitPriceCents: shown ? 300n : 260n }],
      });
      held.release();
      if (shown) await failsWith(slow, 'PRICE_CHANGED');
      else assert.equal((await slow).items[0]!.unitPriceCents, 260n);
      await system.stock.putProducts({ products: [{ productId: tea, title: 'Tea', unitPriceCents: 250n }] });
    }
  });

  it('answers with the title as it is, however little it has changed since it was known', async () => {
    for (const title of ['Tea', 'TEA', 'Téa', 'Tea ', 'Tea']) {
      await system.stock.putProducts({ products: [{ productId: tea, title, unitPriceCents: 250n }] });
      const { items } = await system.stock.deduct({
        orderNo: `${orderNo}-${Buffer.from(title).toString('hex')}-${++last}`,
        items: [{ productId: tea, quantity: 1n }],
      });
      assert.equal(items[0]!.title, title);
    }
  });

  it('reads a product that it knows only when it has to: its price has changed, or there seems to be too little', async () => {
    const reads: number[] = [];
    let read = 0;
    const take = async (quantity: bigint) => {
      const seen = system.stockSql.seen(/SELECT product_id, title/).then(() => read++);
      await system.stock.deduct({ orderNo: `known-${++last}`, items: [{ productId: tea, quantity }] });
      system.stockSql.forget();
      reads.push(read);
      void seen;
    };
    await take(1n);
    await take(1n);
    await system.stock.putProducts({ products: [{ productId: tea, title: 'Tea', unitPriceCents: 251n }] });
    await take(1n);
    await system.stock.receiveStock({ receiptNo: `known-${++last}`, items: [{ productId: tea, quantity: 5n }] });
    await take(7n);
    assert.deepEqual(reads, [1, 1, 2, 3]);
    assert.equal(await availableOf(system, tea), 0n);
  });

  it('says SERVICE_UNAVAILABLE when a row stays locked, and takes nothing', async () => {
    const { sequelize } = system.stockDb;
    const release = await holdRows(sequelize, 'SELECT 1 FROM t_stock WHERE product_id = ? FOR UPDATE', [tea]);
    const transport = createGrpcTransport({ target: system.stockAddress });
    const once = createClient(StockService, transport).deduct({ orderNo, items: [{ productId: tea, quantity: 1n }] });
    await failsWith(once, 'SERVICE_UNAVAILABLE');
    transport.close();
    await release();
    assert.deepEqual(await movementsOf(system, tea), []);
  });

  for (const [when, lose, done] of [
    ['before the server has it', 'cutBefore', false],
    ['after the server has done it', 'cutAfter', true],
  ] as const) {
    it(`takes it all or nothing when the connection is lost ${when}, and a repeat makes it whole`, async () => {
      const lost = system.stockSql[lose](UPDATE);
      // The client repeats the call by itself, since Deduct is idempotent.
      assert.equal((await deduct({ productId: tea, quantity: 1n })).replayed, done);
      await lost;
      assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
    });
  }

  for (const bad of ['', ' ', 'x'.repeat(33), "x'; --", 'é']) {
    it(`refuses the order_no ${JSON.stringify(bad)}`, () =>
      failsWith(system.stock.deduct({ orderNo: bad, items: [{ productId: tea, quantity: 1n }] }), 'INVALID_REQUEST'));
  }
});
