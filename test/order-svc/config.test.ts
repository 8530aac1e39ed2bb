import assert from 'node:assert/strict';
import { loadOrderConfig } from '../../order-svc/config.ts';

const DATABASE_URL = 'mysql://user@host/database';

/** The message with which a configuration is refused; undefined when it is taken. */
function refusal(env: NodeJS.ProcessEnv): string | undefined {
  try {
    loadOrderConfig({ DATABASE_URL, ...env });
  } catch (error) {
    return (error as Error).message;
  }
  return undefined;
}

describe('configuration of order-svc', () => {
  const tls = { STOCK_TLS_CA_FILE: 'ca', STOCK_TLS_CERT_FILE: 'cert', STOCK_TLS_KEY_FILE: 'key' };

  it('takes a certificate for stock-svc with its key, over TLS', () => {
    assert.equal(refusal(tls), undefined);
    for (const missing of Object.keys(tls)) {
      const needed = missing === 'STOCK_TLS_CA_FILE' ? 2 : 1;
      const lines = refusal({ ...tls, [missing]: '' })!
        .split('\n')
        .slice(1);
      assert.deepEqual([...new Set(lines.map((line) => line.trim().split(':')[0]))], [missing]);
      assert.equal(lines.length, needed);
    }
  });

  it('sends no token in clear to another machine', () => {
    const token = { STOCK_TOKEN_FILE: 'token' };
    for (const target of ['127.0.0.1:50052', 'localhost:50052', '[::1]:50052'])
      assert.equal(refusal({ ...token, STOCK_TARGET: target }), undefined);
    for (const target of ['dns:///stock-svc:50052', '10.0.0.2:50052', 'localhost.evil.example:50052'])
      assert.match(refusal({ ...token, STOCK_TARGET: target })!, /^ {2}STOCK_TOKEN_FILE: would be sent in clear/m);
    assert.equal(refusal({ ...token, STOCK_TARGET: 'dns:///stock-svc:50052', STOCK_TLS_CA_FILE: 'ca' }), undefined);
  });

  it('checks who may call', () => {
    assert.match(refusal({ LISTEN_ADDRESS: '0.0.0.0:50051' })!, /^ {2}LISTEN_ADDRESS: must be a loopback address/m);
  });
});
