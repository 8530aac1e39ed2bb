import assert from 'node:assert/strict';
import { type Expected, type Numbers, wrongNumbers } from '../../../dev/demo/check-numbers.ts';

describe('the numbers of a scene', () => {
  const expected = { orders: 1, taken: 2, givenBack: 1 };
  const first = { order_no: '1', type: 'DEDUCT', quantity: '2' } as const;
  const back = { order_no: '1', type: 'RESTORE', quantity: '2' } as const;
  const second = { order_no: '2', type: 'DEDUCT', quantity: '2' } as const;
  const receipt = { order_no: 'r', type: 'RECEIVE', quantity: '10' } as const;
  const right = {
    orders: 1,
    ordersOfProduct: 1,
    stockBefore: 10,
    stockAfter: 8,
    ledger: [receipt, first, back, second],
  };
  const wrong = (seen: Partial<Numbers>, more: Partial<Expected> = {}) =>
    wrongNumbers({ ...expected, ...more }, { ...right, ...seen });

  it('are right when every one is', () => {
    assert.deepEqual(wrong({}), []);
    assert.deepEqual(wrong({}, { givenBack: 'any' }), []);
    assert.deepEqual(wrong({ ledger: [second] }, { givenBack: 'any' }), []);
  });

  it('are wrong when any one is', () => {
    assert.deepEqual(wrong({ orders: 2 }), ['orders of these keys: 2, should be 1']);
    assert.deepEqual(wrong({ ordersOfProduct: 2 }), ['orders of the product: 2, should be 1']);
    assert.deepEqual(wrong({ stockAfter: 6 }), ['stock after: 6, should be 8']);
    assert.deepEqual(wrong({}, { givenBack: 0 }), [
      'attempts in the ledger that gave their stock back: 1, should be 0',
    ]);
    assert.deepEqual(wrong({ ledger: [first, second] }, { givenBack: 0 }), [
      'attempts in the ledger that keep their stock: 2, should be 1',
      'pieces taken, by the ledger: 4, should be 2',
    ]);
    assert.deepEqual(wrong({ ledger: [{ ...second, quantity: '3' }] }, { givenBack: 0 }), [
      'pieces taken, by the ledger: 3, should be 2',
    ]);
  });
});
