import assert from 'node:assert/strict';
import { peerOf } from '../../../runtime/rpc/peer-of.ts';

describe('peerOf', () => {
  const addresses = {
    loopback: ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1'],
    remote: [
      '10.0.0.1',
      '::ffff:10.0.0.1',
      'fe80::1',
      '::',
      '127.0.0.1.evil.example',
      '2001:db8::127.0.0.1',
      'unknown',
      '',
    ],
  };
  for (const [what, list] of Object.entries(addresses)) {
    for (const address of list) {
      it(`takes ${JSON.stringify(address)} for ${what}`, () =>
        assert.equal(peerOf(address, undefined).loopback, what === 'loopback'));
    }
  }

  it('takes a connection without an address for remote', () =>
    assert.equal(peerOf(undefined, undefined).loopback, false));

  const subject = (CN: unknown) => ({ subject: { CN } as never });
  const names: [string, Parameters<typeof peerOf>[1], string | undefined][] = [
    ['no certificate', undefined, undefined],
    ['no certificate, as Node says it', {}, undefined],
    ['the first alternative name', { subjectaltname: 'DNS:a.example, URI:spiffe://shop/b' }, 'a.example'],
    ['the one that is trusted', { subjectaltname: 'DNS:a.example, URI:spiffe://shop/bff' }, 'spiffe://shop/bff'],
    ['neither an address nor a mailbox', { subjectaltname: 'IP Address:10.0.0.1, email:bff@shop.example' }, undefined],
    ['the common name', subject('gateway'), 'gateway'],
    [
      'no common name beside an alternative one',
      { ...subject('gateway'), subjectaltname: 'DNS:a.example' },
      'a.example',
    ],
    ['none of two common names', subject(['gateway', 'a']), undefined],
    ['a quoted one as one', { subjectaltname: 'DNS:"a.example, DNS:gateway"' }, 'a.example, DNS:gateway'],
    ['quotes in a quoted one', { subjectaltname: 'DNS:"a\\", DNS:gateway, DNS:\\""' }, 'a", DNS:gateway, DNS:"'],
    ['nothing of what cannot be read', { ...subject('gateway'), subjectaltname: 'DNS:a.example, DNS:"b' }, undefined],
  ];
  for (const [what, certificate, name] of names) {
    it(`reads in a certificate: ${what}`, () => {
      const trusted = new Set(['gateway', 'spiffe://shop/bff']);
      assert.equal(peerOf('10.0.0.1', certificate, trusted).clientName, name);
    });
  }
});
