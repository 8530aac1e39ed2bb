import assert from 'node:assert/strict';
import type { Order } from '../../../order-svc/domain/order.ts';
import { cutPage, type PageQuery } from '../../../order-svc/domain/order-page.ts';

describe('a page of orders', () => {
  const query: PageQuery = { userId: 1n, status: undefined, size: 100, after: undefined };
  const orders = (count: number, lines: number) =>
    Array.from(
      { length: count },
      (_, i) => ({ orderNo: String(i + 1), items: Array(lines).fill({}) }) as unknown as Order,
    );

  it('has at most 2,000 lines, so that it is never too large for a message', () => {
    assert.equal(cutPage(query, orders(101, 19)).orders.length, 100);
    assert.equal(cutPage(query, orders(101, 20)).orders.length, 100);
    assert.equal(cutPage(query, orders(101, 100)).orders.length, 20);
    assert.equal(cutPage(query, orders(101, 99)).orders.length, 20);
  });

  it('has one order at least', () => {
    assert.equal(cutPage(query, orders(2, 3000)).orders.length, 1);
  });

  it('has a token exactly when there is more', () => {
    assert.equal(cutPage(query, orders(100, 1)).nextPageToken, '');
    assert.notEqual(cutPage(query, orders(101, 1)).nextPageToken, '');
    assert.notEqual(cutPage(query, orders(21, 100)).nextPageToken, '');
    assert.equal(cutPage(query, []).nextPageToken, '');
  });
});
