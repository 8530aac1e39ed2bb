import assert from 'node:assert/strict';
import { decodeBinaryHeader, encodeBinaryHeader } from '@connectrpc/connect';
import { Metadata } from '@grpc/grpc-js';
import fc from 'fast-check';
import { toHeaders, toMetadata } from '../../../runtime/rpc/metadata.ts';

const printable = fc
  .array(fc.integer({ min: 0x20, max: 0x7e }), { maxLength: 20 })
  .map((codes) => String.fromCharCode(...codes).trim());

describe('toMetadata', () => {
  it('keeps the text of a header', () => {
    fc.assert(
      fc.property(printable, (text) => {
        assert.deepEqual(toMetadata(new Headers({ 'x-note': text })).get('x-note'), [text]);
      }),
    );
  });

  it('leaves out what grpc-js writes itself, and nothing else', () => {
    const own = { 'grpc-timeout': '1S', 'Content-Type': 'application/json', TE: 'trailers', 'user-agent': 'a browser' };
    const headers = new Headers({ ...own, 'grpc-previous-rpc-attempts': '1', authorization: 'Bearer x' });
    assert.deepEqual(Object.keys(toMetadata(headers).getMap()).sort(), ['authorization', 'grpc-previous-rpc-attempts']);
  });

  it('takes padded and unpadded base64 in a binary header', () => {
    for (const text of ['/w==', '/w']) {
      assert.deepEqual(toMetadata(new Headers({ 'x-raw-bin': text })).get('x-raw-bin'), [Buffer.from([255])]);
    }
  });
});

describe('toHeaders', () => {
  it('joins the values of one name as HTTP does', () => {
    const metadata = new Metadata();
    metadata.add('X-Note', 'a');
    metadata.add('x-note', 'b');
    assert.equal(toHeaders(metadata).get('x-note'), 'a, b');
  });

  it('gives back what toMetadata made of it, for any bytes and any number of values', () => {
    const values = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(values, (list) => {
        const headers = new Headers();
        for (const bytes of list) headers.append('x-raw-bin', encodeBinaryHeader(bytes));
        const metadata = toMetadata(headers);
        assert.deepEqual(
          metadata.get('x-raw-bin').map((value) => Uint8Array.from(value as Buffer)),
          list,
        );
        assert.deepEqual(
          toHeaders(metadata)
            .get('x-raw-bin')!
            .split(',')
            .map((one) => Uint8Array.from(decodeBinaryHeader(one.trim()))),
          list,
        );
      }),
    );
  });
});
