import assert from 'node:assert/strict';
import fc from 'fast-check';
import { reasonOf } from '../../runtime/rpc/errors.ts';
import { availableOf, product, useSystem } from '../support/system.ts';

const orderNo = fc.integer({ min: 1, max: 6 });
const quantity = fc.bigInt(1n, 4n);
const command = fc.oneof(
  fc.record({ rpc: fc.constant('deduct' as const), orderNo, quantity }),
  fc.record({ rpc: fc.constant('restore' as const), orderNo }),
  fc.record({ rpc: fc.constant('receive' as const), orderNo, quantity }),
);

describe('the ledger', () => {
  const system = useSystem();
  let run = 0;

  it('agrees with what is available, whatever is asked in whatever order, and at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(command, { minLength: 1, maxLength: 4 }), { maxLength: 8 }), async (steps) => {
        const tea = await product(system, 5n);
        const prefix = `ledger-${++run}`;
        const orders = new Set<string>();
        for (const atOnce of steps) {
          await Promise.all(
            atOnce.map(async (one) => {
              const number = `${prefix}-${one.orderNo}`;
              orders.add(number);
              const answer =
                one.rpc === 'restore'
                  ? system.stock.restore({ orderNo: number })
                  : one.rpc === 'deduct'
                    ? system.stock.deduct({ orderNo: number, items: [{ productId: tea, quantity: one.quantity }] })
                    : system.stock.receiveStock({
                        receiptNo: number,
                        items: [{ productId: tea, quantity: one.quantity }],
                      });
              await answer.catch((error: unknown) => {
                const refusals = ['INSUFFICIENT_STOCK', 'ORDER_NO_REUSED', 'ORDER_CLOSED', 'RECEIPT_NO_REUSED'];
                assert.ok(refusals.includes(reasonOf(error) ?? ''), String(error));
              });
            }),
          );
          const rows = await system.stockDb.StockRecord.findAll({ where: { product_id: String(tea) }, raw: true });
          const sum = rows.reduce(
            (total, row) => total + BigInt(row.quantity) * (row.type === 'DEDUCT' ? -1n : 1n),
            0n,
          );
          const available = await availableOf(system, tea);
          assert.equal(available, sum);
          assert.ok(available >= 0n);
        }
        for (const number of orders) await system.stock.restore({ orderNo: number });
      }),
      { numRuns: 25 },
    );
  });
});
