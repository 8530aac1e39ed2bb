import assert from 'node:assert/strict';
import { readNatsUrl } from '../../runtime/nats-url.ts';

describe('readNatsUrl', () => {
  it('reads one server, or several', () => {
    assert.deepEqual(readNatsUrl('nats://broker:4333'), { servers: ['broker:4333'] });
    assert.deepEqual(readNatsUrl('nats://broker'), { servers: ['broker'] });
    assert.deepEqual(readNatsUrl('nats://a:1, nats://[::1]:2/'), { servers: ['a:1', '[::1]:2'] });
  });

  it('reads a user with a password, or a token, and undoes what stands for their odd letters', () => {
    assert.deepEqual(readNatsUrl('nats://me:p%40ss%3A@a,nats://b'), { servers: ['a', 'b'], user: 'me', pass: 'p@ss:' });
    assert.deepEqual(readNatsUrl('nats://t%2Fken@a'), { servers: ['a'], token: 't/ken' });
  });

  it('never goes without TLS where one of them says tls', () => {
    assert.deepEqual(readNatsUrl('tls://a'), { servers: ['a'], tls: {} });
    assert.deepEqual(readNatsUrl('nats://a,tls://b'), { servers: ['a', 'b'], tls: {} });
  });

  it('takes nothing else', () => {
    for (const text of [
      '',
      'log:',
      'broker:4222',
      'http://a',
      'nats://',
      'nats://a/x',
      'nats://a?x',
      'nats://a,',
      'nats://%zz@a',
    ]) {
      assert.equal(readNatsUrl(text), undefined, text);
    }
  });
});
