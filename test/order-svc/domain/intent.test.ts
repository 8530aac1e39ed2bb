import assert from 'node:assert/strict';
import fc from 'fast-check';
import { cartFingerprint, type Line } from '../../../order-svc/domain/intent.ts';

const line = fc.record({
  productId: fc.bigInt(1n, 20n),
  quantity: fc.bigInt(1n, 1000n),
  unitPriceCents: fc.option(fc.bigInt(0n, 20n), { nil: undefined }),
});
const cart = fc.array(line, { minLength: 1, maxLength: 10 });
const same = (a: readonly Line[], b: readonly Line[]) => cartFingerprint(a).equals(cartFingerprint(b));

describe("a cart's fingerprint", () => {
  it('does not depend on the order of its lines', () => {
    fc.assert(
      fc.property(
        cart.chain((lines) => fc.tuple(fc.constant(lines), fc.shuffledSubarray(lines, { minLength: lines.length }))),
        ([lines, shuffled]) => same(lines, shuffled),
      ),
    );
  });

  it('does not depend on how the pieces of a product at one price are split over lines', () => {
    fc.assert(
      fc.property(cart, line, fc.bigInt(1n, 1000n), (lines, one, more) => {
        const split = [...lines, one, { ...one, quantity: more }];
        return same(split, [...lines, { ...one, quantity: one.quantity + more }]);
      }),
    );
  });

  it('differs for any other product, quantity or price', () => {
    fc.assert(
      fc.property(cart, line, (lines, more) => {
        const [first, ...rest] = lines;
        return (
          !same(lines, [...lines, more]) &&
          !same(lines, [{ ...first!, quantity: first!.quantity + 1n }, ...rest]) &&
          !same(lines, [{ ...first!, productId: 99n }, ...rest]) &&
          !same(lines, [{ ...first!, unitPriceCents: 99n }, ...rest])
        );
      }),
    );
  });

  it('tells a price of 0 from none', () => {
    const item = { productId: 1n, quantity: 1n };
    assert.ok(!same([{ ...item, unitPriceCents: 0n }], [{ ...item, unitPriceCents: undefined }]));
  });
});
