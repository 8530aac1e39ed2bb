import assert from 'node:assert/strict';
import type { ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../../gen/google/rpc/error_details_pb.ts';
import { errorInfoOf } from '../../runtime/rpc/errors.ts';
import { failsWith } from '../support/expect.ts';
import { availableOf, product, useSystem } from '../support/system.ts';

describe('products and receipts', () => {
  const system = useSystem();
  const fieldsOf = (error: ConnectError) =>
    error.findDetails(BadRequestSchema).flatMap((bad) => bad.fieldViolations.map((violation) => violation.field));

  it('PutProducts makes products and changes them, and leaves the stock alone', async () => {
    const tea = await product(system, 3n);
    const title = '茶 🍵 '.repeat(2) + 'x'.repeat(246);
    await system.stock.putProducts({ products: [{ productId: tea, title, unitPriceCents: 0n }] });
    const { stocks } = await system.stock.getStock({ productIds: [tea, tea] });
    assert.deepEqual(
      stocks.map((one) => [one.title, one.unitPriceCents, one.available]),
      [[title, 0n, 3n]],
    );
  });

  it('PutProducts names each wrong field and writes nothing', async () => {
    const good = { productId: 10n ** 16n, title: 'Good', unitPriceCents: 1n };
    const error = await failsWith(
      system.stock.putProducts({
        products: [good, { ...good, title: ' ' }, { productId: 0n, title: 'x'.repeat(257), unitPriceCents: -1n }],
      }),
      'INVALID_REQUEST',
    );
    assert.deepEqual(fieldsOf(error), [
      'products[1].product_id',
      'products[1].title',
      'products[2].product_id',
      'products[2].title',
      'products[2].unit_price_cents',
    ]);
    await failsWith(system.stock.getStock({ productIds: [good.productId] }), 'PRODUCT_NOT_FOUND');
  });

  it('PutProducts and GetStock take 1 to 100 entries', async () => {
    for (const count of [0, 101]) {
      const ids = Array.from({ length: count }, (_, i) => BigInt(i + 1));
      const put = ids.map((productId) => ({ productId, title: 'x', unitPriceCents: 1n }));
      await failsWith(system.stock.putProducts({ products: put }), 'INVALID_REQUEST');
      await failsWith(system.stock.getStock({ productIds: ids }), 'INVALID_REQUEST');
    }
  });

  it('GetStock names the product that is not there', async () => {
    const tea = await product(system, 1n);
    const error = await failsWith(system.stock.getStock({ productIds: [tea, 10n ** 16n] }), 'PRODUCT_NOT_FOUND');
    assert.equal(errorInfoOf(error)!.metadata['product_id'], String(10n ** 16n));
  });

  it('ReceiveStock books a receipt once, however often and at once it comes', async () => {
    const tea = await product(system, 0n);
    const items = [
      { productId: tea, quantity: 2n },
      { productId: tea, quantity: 3n },
    ];
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => system.stock.receiveStock({ receiptNo: 'once', items })),
    );
    assert.equal(answers.filter((answer) => !answer.replayed).length, 1);
    assert.equal(await availableOf(system, tea), 5n);
  });

  it('ReceiveStock refuses other items under a receipt that was booked, those of other products too', async () => {
    const [tea, cup] = [await product(system, 0n), await product(system, 0n)];
    await system.stock.receiveStock({ receiptNo: 'used', items: [{ productId: tea, quantity: 2n }] });
    for (const item of [
      { productId: tea, quantity: 3n },
      { productId: cup, quantity: 2n },
    ]) {
      await failsWith(system.stock.receiveStock({ receiptNo: 'used', items: [item] }), 'RECEIPT_NO_REUSED');
    }
    assert.deepEqual([await availableOf(system, tea), await availableOf(system, cup)], [2n, 0n]);
  });

  it('ReceiveStock of an unknown product adds nothing at all', async () => {
    const tea = await product(system, 0n);
    const items = [
      { productId: tea, quantity: 2n },
      { productId: 10n ** 16n, quantity: 1n },
    ];
    await failsWith(system.stock.receiveStock({ receiptNo: 'unknown', items }), 'PRODUCT_NOT_FOUND');
    assert.equal(await availableOf(system, tea), 0n);
    assert.equal(await system.stockDb.StockReceipt.findByPk('unknown'), null);
  });

  it('ReceiveStock names each wrong field', async () => {
    const error = await failsWith(
      system.stock.receiveStock({ receiptNo: 'a b', items: [{ productId: -1n, quantity: 0n }] }),
      'INVALID_REQUEST',
    );
    assert.deepEqual(fieldsOf(error), ['receipt_no', 'items[0].product_id', 'items[0].quantity']);
  });
});
