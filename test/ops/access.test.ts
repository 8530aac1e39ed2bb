import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { Access } from '../../ops/access.ts';
import { pemPath, useFolder } from '../support/certificates.ts';
import { SECRET, startGuardedStock } from '../support/guarded-stock.ts';
import { signed } from '../support/issuer.ts';
import { product, useSystem } from '../support/system.ts';
import { opsEnv, runOps } from './run-ops.ts';

describe('ordersystem, when it cannot find out', function () {
  this.timeout(60_000);
  const system = useSystem();
  const nowhere = 'mysql://root:secret@127.0.0.1:1/nothing';

  it('names every variable that is missing or wrong, with status 2', async () => {
    const { status, stdout, stderr } = await runOps(['audit'], { STOCK_DATABASE_URL: 'postgres://root:secret@x/y' });
    assert.deepEqual([status, stdout], [2, '']);
    assert.match(stderr, /^ {2}ORDER_DATABASE_URL: is required: mysql:\/\/user:password@host:port\/database$/m);
    assert.match(stderr, /^ {2}STOCK_DATABASE_URL: must be mysql:/m);
    assert.ok(!stderr.includes('secret'));
  });

  it('names what cannot be reached, and no password, with status 2', async () => {
    for (const args of [['audit'], ['claims', 'list'], ['outbox', 'requeue', '--all-dead', '--yes']]) {
      const { status, stderr } = await runOps(args, { ...opsEnv(system), ORDER_DATABASE_URL: nowhere });
      assert.equal(status, 2);
      assert.equal(stderr, 'ordersystem: ORDER_DATABASE_URL: 127.0.0.1:1 cannot be reached (ECONNREFUSED)\n');
    }
    const stock = await runOps(['stock', 'show', '1'], { STOCK_TARGET: '127.0.0.1:1' });
    assert.equal(stock.status, 2);
    assert.match(stock.stderr, /^ordersystem: STOCK_TARGET: no answer \(/);
  });

  it('says when a database is the wrong one, or lets nobody in, with status 2', async () => {
    const { ORDER_DATABASE_URL, STOCK_DATABASE_URL } = opsEnv(system);
    const swapped = await runOps(['audit'], {
      ORDER_DATABASE_URL: STOCK_DATABASE_URL,
      STOCK_DATABASE_URL: ORDER_DATABASE_URL,
    });
    assert.equal(swapped.status, 2);
    assert.match(swapped.stderr, /^ordersystem: ORDER_DATABASE_URL: test_stock_\w+ is not the database of .*order-svc/);

    const wrong = new URL(ORDER_DATABASE_URL!);
    wrong.password = 'not-the-secret';
    const refused = await runOps(['claims', 'list'], { ORDER_DATABASE_URL: wrong.href });
    assert.equal(refused.status, 2);
    assert.match(refused.stderr, /^ordersystem: ORDER_DATABASE_URL: Access denied for user/);
    assert.ok(!refused.stderr.includes('not-the-secret'));
  });

  it('asks only for what the command needs', async () => {
    const { ORDER_DATABASE_URL, STOCK_TARGET } = opsEnv(system);
    assert.equal((await runOps(['outbox', 'list'], { ORDER_DATABASE_URL })).status, 0);
    assert.notEqual((await runOps(['stock', 'show', '1'], { STOCK_TARGET })).status, 2);
  });

  it('reads in sessions that can change nothing', async () => {
    const access = new Access(opsEnv(system));
    const { order, stock } = await access.databases();
    const readOnly = /READ ONLY transaction|read[- ]only/i;
    await assert.rejects(order.query('DELETE FROM t_order_claim'), readOnly);
    await assert.rejects(order.query('INSERT INTO t_worker_lease (worker_id) VALUES (9999)'), readOnly);
    await assert.rejects(stock.query('UPDATE t_stock SET available = 1'), readOnly);
    await assert.rejects(stock.query('DROP TABLE t_stock'), readOnly);
    await access.close();
  });
});

describe('ordersystem and a stock-svc that has to know its callers', function () {
  this.timeout(60_000);
  const system = useSystem();
  const folder = useFolder();
  let env: Record<string, string>;
  let tea: string;

  before(async () => {
    tea = String(await product(system, 1n));
    const stock = await startGuardedStock(system);
    after(() => stock.stop());
    env = { STOCK_TARGET: stock.target, STOCK_TLS_CA_FILE: pemPath('ca.pem') };
  });

  it('shows a certificate, or a token', async () => {
    const certificate = { STOCK_TLS_CERT_FILE: pemPath('order-svc.pem'), STOCK_TLS_KEY_FILE: pemPath('order-svc.key') };
    assert.equal((await runOps(['stock', 'show', tea], { ...env, ...certificate })).status, 0);
    const token = await signed({ sub: 'ops', scope: 'stock.read' }, { alg: 'HS256' }, Buffer.from(SECRET));
    writeFileSync(folder.path('token'), `${token}\n`);
    const bearer = { ...env, STOCK_TOKEN_FILE: folder.path('token') };
    assert.equal((await runOps(['stock', 'show', tea], bearer)).status, 0);
    const denied = await runOps(['stock', 'receive', 'GR-1', `${tea}=1`, '--yes'], bearer);
    assert.equal(denied.status, 2);
    assert.match(denied.stderr, /stock-svc answered PERMISSION_DENIED/);
  });

  it('is not let in without either, with status 2', async () => {
    const { status, stderr } = await runOps(['stock', 'show', tea], env);
    assert.equal(status, 2);
    assert.match(stderr, /stock-svc answered UNAUTHENTICATED/);
  });

  it('names files that are missing, and sends no token in clear', async () => {
    const missing = await runOps(['stock', 'show', tea], { ...env, STOCK_TLS_CA_FILE: '/nowhere/ca.pem' });
    assert.equal(missing.status, 2);
    assert.match(missing.stderr, /STOCK_TLS_CA_FILE: /);
    const alone = await runOps(['stock', 'show', tea], { ...env, STOCK_TLS_KEY_FILE: pemPath('order-svc.key') });
    assert.match(alone.stderr, /STOCK_TLS_CERT_FILE: is required with STOCK_TLS_KEY_FILE/);
    const clear = await runOps(['stock', 'show', tea], { STOCK_TARGET: 'stock:50052', STOCK_TOKEN_FILE: '/token' });
    assert.equal(clear.status, 2);
    assert.match(clear.stderr, /STOCK_TOKEN_FILE: would be sent in clear/);
    writeFileSync(folder.path('empty'), 'not a token\n');
    const none = await runOps(['stock', 'show', tea], { ...env, STOCK_TOKEN_FILE: folder.path('empty') });
    assert.equal(none.status, 2);
    assert.match(none.stderr, /STOCK_TOKEN_FILE: .*there is no bearer token in it/);
  });
});
