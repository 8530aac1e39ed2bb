import assert from 'node:assert/strict';
import { InvalidArgumentError } from 'commander';
import { durationMs, timeMs, wholeNumber } from '../../../ops/commands/options.ts';

describe('values of options', () => {
  it('are durations', () => {
    assert.deepEqual(['90s', '30m', '24h', '7d'].map(durationMs), [90_000, 1_800_000, 86_400_000, 604_800_000]);
    for (const text of ['', '7', 'd', '1.5h', '-1h', '7 d', '1h30m'])
      assert.throws(() => durationMs(text), InvalidArgumentError);
  });

  it('are times, or so long ago', () => {
    assert.equal(timeMs('2026-11-30T08:00Z'), Date.UTC(2026, 10, 30, 8));
    assert.equal(timeMs('2026-11-30T08:00:01.5+01:00'), Date.UTC(2026, 10, 30, 7, 0, 1, 500));
    assert.equal(timeMs('2026-11-30'), Date.UTC(2026, 10, 30));
    assert.ok(Math.abs(timeMs('2h') - (Date.now() - 7_200_000)) < 1_000);
    // A time without its zone would be another one on each machine.
    for (const text of ['yesterday', '2026-11-30T08:00', '2026-13-01', '30.11.2026', '1733000000', ''])
      assert.throws(() => timeMs(text), InvalidArgumentError, text);
  });

  it('are whole numbers', () => {
    assert.equal(wholeNumber('100', 100), 100);
    for (const text of ['0', '101', '-1', '1e2', '1.0', ''])
      assert.throws(() => wholeNumber(text, 100), InvalidArgumentError);
  });
});
