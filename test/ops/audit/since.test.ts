import assert from 'node:assert/strict';
import { numberBefore } from '../../../ops/audit/since.ts';
import { encodeOrderNo, EPOCH_MS } from '../../../order-svc/domain/order-no.ts';

const NOW = Date.UTC(2026, 10, 30);
const numberAt = (timeMs: number) => encodeOrderNo({ timeMs, worker: 127, sequence: 127, gene: 255 });

describe('the number before all orders since a time', () => {
  it('is before a number that was made minutes earlier by a clock that is behind, and after older ones', () => {
    const number = numberBefore(NOW - 3_600_000, NOW);
    assert.ok(number <= numberAt(NOW - 3_600_000 - 9 * 60_000));
    assert.ok(number > numberAt(NOW - 3_600_000 - 11 * 60_000));
  });

  it('is none where text and time disagree: numbers have got a digit more since', () => {
    // 10^18 >> 22 milliseconds after the epoch.
    const grown = EPOCH_MS + Number((10n ** 18n) >> 22n);
    assert.equal(numberAt(grown - 60_000).length + 1, numberAt(grown + 60_000).length);
    assert.equal(numberBefore(grown - 3_600_000, grown + 3_600_000), '');
    assert.notEqual(numberBefore(grown + 3_600_000, grown + 7_200_000), '');
  });

  it('is none before there were numbers', () => {
    assert.equal(numberBefore(0, NOW), '');
  });
});
