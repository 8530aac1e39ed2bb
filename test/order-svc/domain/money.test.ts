import assert from 'node:assert/strict';
import fc from 'fast-check';
import { toCents, toDecimal } from '../../../order-svc/domain/money.ts';

describe('money', () => {
  it('is exact in cents and in decimals', () => {
    assert.equal(toDecimal(0n), '0.00');
    assert.equal(toDecimal(5n), '0.05');
    assert.equal(toDecimal(999_999_999_999n), '9999999999.99');
    fc.assert(fc.property(fc.bigInt(0n, 999_999_999_999n), (cents) => toCents(toDecimal(cents)) === cents));
  });
});
