import assert from 'node:assert/strict';
import { type PurchaseItem, PurchaseIntent } from '../../client/purchase-intent.ts';
import { reloaded } from './purchase-rig.ts';

const cart: PurchaseItem[] = [
  { productId: 2n ** 63n - 1n, quantity: 1_000_000n, unitPriceCents: 0n },
  { productId: 1n, quantity: 1n },
];
const plain = (items: readonly PurchaseItem[]) =>
  items.map(({ productId, quantity, unitPriceCents }) => ({ productId, quantity, unitPriceCents }));

describe('an intent', () => {
  it('has a key of its own, for good', () => {
    const [one, other] = [PurchaseIntent.create(cart), PurchaseIntent.create(cart)];
    assert.match(one.clientRequestId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.notEqual(one.clientRequestId, other.clientRequestId);
    assert.throws(() => Object.assign(one, { clientRequestId: other.clientRequestId }), TypeError);
  });

  it('holds a copy of the cart, which nobody changes', () => {
    const items = cart.map((item) => ({ ...item }));
    const intent = PurchaseIntent.create(items);
    items[0]!.quantity = 7n;
    items.pop();
    assert.deepEqual(plain(intent.items), plain(cart));
    const held = intent.items as PurchaseItem[];
    assert.throws(() => held.push({ productId: 3n, quantity: 1n }), TypeError);
    assert.throws(() => (held[0]!.quantity = 2n), TypeError);
    assert.throws(() => Object.assign(intent, { items }), TypeError);
  });

  it('is saved as plain JSON and read again, with the same key and the same cart', () => {
    const intent = PurchaseIntent.create(cart);
    const text = JSON.stringify(intent);
    assert.deepEqual(JSON.parse(text), {
      version: 1,
      clientRequestId: intent.clientRequestId,
      items: [
        { productId: '9223372036854775807', quantity: '1000000', unitPriceCents: '0' },
        { productId: '1', quantity: '1' },
      ],
    });
    const again = reloaded(intent);
    assert.equal(again.clientRequestId, intent.clientRequestId);
    assert.deepEqual(plain(again.items), plain(cart));
    assert.equal(JSON.stringify(again), text);
  });

  const saved = { version: 1, clientRequestId: 'k', items: [{ productId: '1', quantity: '2' }] };
  const unreadable: [string, unknown, RegExp][] = [
    ['nothing', null, /must be an object/],
    ['text', JSON.stringify(saved), /must be an object/],
    ['no version', { ...saved, version: undefined }, /version must be 1, was undefined/],
    ['a later version', { ...saved, version: 2 }, /version must be 1, was 2/],
    ['no key', { version: 1, items: [] }, /clientRequestId must be/],
    ['an empty key', { ...saved, clientRequestId: '' }, /clientRequestId must be/],
    ['a key that is too long', { ...saved, clientRequestId: 'k'.repeat(65) }, /clientRequestId must be/],
    ['a number for a key', { ...saved, clientRequestId: 5 }, /client_request_id from JSON: expected string/],
    ['items that are no list', { ...saved, items: 'tea' }, /items from JSON: expected Array/],
    [
      'a product that is no number',
      { ...saved, items: [{ productId: 'tea' }] },
      /product_id from JSON: expected bigint/,
    ],
    ['half a piece', { ...saved, items: [{ quantity: 0.5 }] }, /quantity from JSON: expected bigint/],
    ['a field that it does not know', { ...saved, coupon: 'X' }, /"coupon" is unknown/],
  ];
  for (const [what, value, message] of unreadable) {
    it(`is not read from ${what}`, () => {
      assert.throws(() => PurchaseIntent.fromJSON(value), {
        message: new RegExp(`^not a saved purchase intent: .*${message.source}`),
      });
    });
  }

  it('is not made of what cannot be sent', () => {
    const impossible = [
      { productId: 2n ** 63n, quantity: 1n },
      { productId: 1n, quantity: 0.5 as unknown as bigint },
    ];
    for (const item of impossible)
      assert.throws(() => PurchaseIntent.create([item]), /(product_id|quantity).*expected bigint/);
  });
});
