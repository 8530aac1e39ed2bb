import assert from 'node:assert/strict';
import { Access } from '../../ops/access.ts';
import { useSystem } from '../support/system.ts';
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
