import assert from 'node:assert/strict';
import fc from 'fast-check';
import { fingerprintOf } from '../../runtime/fingerprint.ts';

type Rows = (string | bigint | undefined)[][];

// Bigints and texts are kept apart by their column, as in a request: a row is a text, a number and one that may be missing.
const row = fc.tuple(
  fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('null', '', '"', ',', '\n', '],[', '\ud83d')),
  fc.bigInt(),
  fc.option(fc.string(), { nil: undefined }),
);
const rows = fc.array(row, { maxLength: 6 });

const hex = (value: Rows) => fingerprintOf(value).toString('hex');
const sorted = (value: Rows) => value.map((one) => JSON.stringify(one, replacer)).sort();

function replacer(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? { bigint: String(value) } : value === undefined ? { missing: true } : value;
}

describe('fingerprintOf', () => {
  it('has 32 bytes, the same for the same rows in any order', () => {
    const shuffled = rows.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    );
    fc.assert(
      fc.property(shuffled, ([list, other]) => {
        assert.equal(hex(list), hex(other));
        assert.equal(fingerprintOf(list).length, 32);
      }),
    );
  });

  it('differs for any other difference between two sets of rows', () => {
    fc.assert(
      fc.property(rows, rows, (one, other) => {
        assert.equal(hex(one) === hex(other), sorted(one).join() === sorted(other).join());
      }),
    );
  });

  it('differs when one value of one row is changed', () => {
    const changed = fc
      .tuple(fc.array(row, { minLength: 1, maxLength: 5 }), row, fc.nat(), fc.nat(2))
      .map(([list, other, at, column]) => {
        const copy: Rows = list.map((one) => [...one]);
        copy[at % list.length]![column] = other[column];
        return [list, copy] as const;
      });
    fc.assert(
      fc.property(changed, ([before, after]) => {
        fc.pre(sorted(before).join() !== sorted(after).join());
        assert.notEqual(hex(before), hex(after));
      }),
    );
  });

  it('tells a missing value from every text, and rows from columns', () => {
    const all: Rows[] = [
      [],
      [[]],
      [[], []],
      [[undefined]],
      [['']],
      [['null']],
      [['undefined']],
      [[undefined, undefined]],
      [['a', 'b']],
      [['b', 'a']],
      [['a'], ['b']],
      [['a,b']],
      [['a","b']],
      [['a'], ['a']],
      [['a']],
      [['a\n']],
      [['\ud83d']],
      [['\ufffd']],
    ];
    assert.equal(new Set(all.map(hex)).size, all.length);
  });

  it('takes a bigint for its decimal text', () => {
    assert.equal(hex([[12345678901234567890n]]), hex([['12345678901234567890']]));
  });

  it('is the same in every version: it is stored', () => {
    const value: Rows = [
      ['product', 7n, undefined],
      ['ü', -1n, 'x'],
    ];
    assert.equal(hex(value), '302598957738bc86f2c101b25377ee3ead03ceb7dbe97ace9bd234538872171b');
  });
});
