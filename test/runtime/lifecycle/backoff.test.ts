import assert from 'node:assert/strict';
import fc from 'fast-check';
import { fullJitterMs } from '../../../runtime/lifecycle/backoff.ts';

describe('fullJitterMs', () => {
  const backoff = { baseMs: 20, maxMs: 500 };

  it('is a part of a bound that starts at baseMs and doubles up to maxMs', () => {
    const bounds = [0, 1, 2, 3, 4, 5, 6].map((attempt) => fullJitterMs(attempt, backoff, () => 0.5) * 2);
    assert.deepEqual(bounds, [20, 40, 80, 160, 320, 500, 500]);
    assert.equal(
      fullJitterMs(3, backoff, () => 0),
      0,
    );
  });

  it('stays between 0 and the bound, however many attempts have failed', () => {
    const part = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.nat(), part, fc.nat(10_000), fc.nat(100_000), (attempt, random, baseMs, maxMs) => {
        const ms = fullJitterMs(attempt, { baseMs, maxMs }, () => random);
        assert.ok(ms >= 0 && ms <= maxMs);
        assert.ok(attempt > 30 || ms <= baseMs * 2 ** attempt);
      }),
    );
  });

  it('differs from call to call when nobody passes a random of his own', () => {
    const waits = new Set(Array.from({ length: 20 }, () => fullJitterMs(9, backoff)));
    assert.ok(waits.size > 1);
  });
});
