import { killAndRetry } from './kill-and-retry.ts';
import type { Scene } from './scene.ts';

/** Pieces of each product in stock when the demo begins. */
export const piecesInStock = 100n;

export const scenes: readonly Scene[] = [
  {
    name: 'same key, three times in a row',
    product: { productId: 1001n, title: 'Espresso beans, dark roast, 1 kg', unitPriceCents: 2490n },
    expected: { orders: 1, taken: 2 },
    async play(stage) {
      const key = stage.newKey();
      stage.expectOneOrder([await stage.buy(key), await stage.buy(key), await stage.buy(key)]);
    },
  },
  {
    name: 'same key, 20 callers at once',
    product: { productId: 1002n, title: 'Burr grinder, 40 steps', unitPriceCents: 18900n },
    // One that looked before the order was there and claimed after it takes stock for a moment: the unique key sends it back.
    expected: { orders: 1, taken: 2, givenBack: 'any' },
    async play(stage) {
      const key = stage.newKey();
      stage.expectOneOrder(await Promise.all(Array.from({ length: 20 }, () => stage.buy(key))));
    },
  },
  {
    name: 'same key, another user',
    product: { productId: 1003n, title: 'Milk jug, stainless steel, 0.6 l', unitPriceCents: 1990n },
    expected: { orders: 1, taken: 2 },
    async play(stage) {
      const key = stage.newKey();
      const stranger = 7;
      stage.expectOneOrder([await stage.buy(key)]);
      stage.expectConflict(await stage.buy(key, { userId: stranger }));
      const his = await stage.shop.orderDb.Order.count({ where: { user_id: String(stranger) } });
      stage.expect(his === 0, `the other user has ${his} orders, should be 0`);
    },
  },
  {
    name: 'same key, another cart',
    product: { productId: 1004n, title: 'Porcelain cups, set of 6', unitPriceCents: 4450n },
    expected: { orders: 1, taken: 2 },
    async play(stage) {
      const key = stage.newKey();
      stage.expectOneOrder([await stage.buy(key)]);
      stage.expectConflict(await stage.buy(key, { quantity: 5 }));
    },
  },
  {
    name: 'order-svc killed after Deduct, caller retries',
    product: { productId: 1005n, title: 'Paper filters, size 4, 100 pieces', unitPriceCents: 390n },
    expected: { orders: 1, taken: 2, givenBack: 1 },
    play: killAndRetry,
  },
  {
    name: 'two keys, same cart',
    product: { productId: 1006n, title: 'Descaler, 500 ml', unitPriceCents: 890n },
    expected: { orders: 2, taken: 4 },
    async play(stage) {
      stage.expectOneOrder([await stage.buy(stage.newKey())]);
      stage.expectOneOrder([await stage.buy(stage.newKey())]);
    },
  },
];
