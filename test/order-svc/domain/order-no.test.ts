import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  decodeOrderNo,
  encodeOrderNo,
  EPOCH_MS,
  geneOf,
  SEQUENCES,
  WORKERS,
} from '../../../order-svc/domain/order-no.ts';

const parts = fc.record(
  {
    timeMs: fc.integer({ min: EPOCH_MS, max: EPOCH_MS + 2 ** 41 - 1 }),
    worker: fc.integer({ min: 0, max: WORKERS - 1 }),
    sequence: fc.integer({ min: 0, max: SEQUENCES - 1 }),
    gene: fc.integer({ min: 0, max: 255 }),
  },
  { noNullPrototype: true },
);

describe('an order number', () => {
  it('holds its parts', () => {
    fc.assert(fc.property(parts, (one) => assert.deepEqual(decodeOrderNo(encodeOrderNo(one)), one)));
  });

  it('is a positive number of 63 bits, as 1 to 19 digits', () => {
    fc.assert(
      fc.property(parts, (one) => {
        const orderNo = encodeOrderNo(one);
        return /^(0|[1-9]\d{0,18})$/.test(orderNo) && BigInt(orderNo) < 2n ** 63n;
      }),
    );
  });

  it('grows with time', () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        fc.pre(a.timeMs < b.timeMs);
        return BigInt(encodeOrderNo(a)) < BigInt(encodeOrderNo(b));
      }),
    );
  });

  it('has the low 8 bits of its user in its own', () => {
    fc.assert(
      fc.property(parts, fc.bigInt(1n, 2n ** 63n - 1n), (one, userId) => {
        const orderNo = encodeOrderNo({ ...one, gene: geneOf(userId) });
        return BigInt(orderNo) % 256n === userId % 256n;
      }),
    );
  });

  it('cannot be made before 2026 or after 2095', () => {
    const one = { worker: 0, sequence: 0, gene: 0 };
    assert.throws(() => encodeOrderNo({ ...one, timeMs: EPOCH_MS - 1 }), RangeError);
    assert.throws(() => encodeOrderNo({ ...one, timeMs: EPOCH_MS + 2 ** 41 }), RangeError);
  });
});
