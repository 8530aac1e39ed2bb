import assert from 'node:assert/strict';
import { money } from '../../../ops/show/print.ts';
import { fields, table, visible } from '../../../ops/show/table.ts';

describe('a table', () => {
  it('is aligned, numbers to the right, with nothing after the last column', () => {
    const rows = [
      ['a', '1', 'short'],
      ['long', '1000', 'something longer'],
    ];
    assert.deepEqual(table(['name', { name: 'n', right: true }, 'last'], rows), [
      'name     n  last',
      'a        1  short',
      'long  1000  something longer',
    ]);
  });

  it('and fields show no character that steers a terminal', () => {
    assert.equal(visible('a\x1b[31mb\r\n\u009bc'), 'a\ufffd[31mb\ufffd\ufffd\ufffdc');
    assert.deepEqual(fields({ a: 'x\ty', long: 'z' }), ['a     x\ufffdy', 'long  z']);
  });
});

describe('money', () => {
  it('is cents as people write them', () => {
    assert.deepEqual([0n, 5n, 250n, 99999999999999n, -5n].map(money), [
      '0.00',
      '0.05',
      '2.50',
      '999999999999.99',
      '-0.05',
    ]);
  });
});
