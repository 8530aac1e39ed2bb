import assert from 'node:assert/strict';
import { until } from '../support/expect.ts';
import { failureOf, reloaded, usePurchases } from './purchase-rig.ts';

describe('PurchaseIntent', () => {
  const rig = usePurchases();
  const { intentOf, submit, ordersOf, assertOnce, states } = rig;

  it('makes its order once, however often it is submitted, now and after a reload', async () => {
    const { intent, productId } = await intentOf(10n);
    const order = await submit(intent);
    assert.equal(await submit(intent), order);
    assert.deepEqual(states, ['submitting', 'done']);
    assert.deepEqual(await submit(reloaded(intent)), order);
    await assertOnce(intent, productId, order);
  });

  it('sends one request for twenty clicks', async () => {
    const { intent, productId } = await intentOf(10n);
    const orders = await Promise.all(Array.from({ length: 20 }, () => submit(intent)));
    assert.deepEqual(states, ['submitting', 'done']);
    assert.equal(new Set(orders).size, 1);
    await assertOnce(intent, productId, orders[0]!);
  });

  it('gives twenty pages that hold it the one order', async () => {
    const { intent, productId } = await intentOf(10n);
    const orders = await Promise.all(Array.from({ length: 20 }, () => submit(reloaded(intent))));
    assert.equal(new Set(orders.map((order) => order.orderNo)).size, 1);
    await assertOnce(intent, productId, orders[0]!);
  });

  it('finds its order when the connection is lost after the work was done, and sends nothing again', async () => {
    const { intent, productId } = await intentOf(10n);
    rig.wire.stall();
    const order = submit(intent);
    await until('the order', async () => (await ordersOf(intent)) === 1);
    rig.wire.cut();
    await assertOnce(intent, productId, await order);
    assert.deepEqual(states, ['submitting', 'waiting UNAVAILABLE', 'done']);
  });

  it('goes on after a reload that came before the answer', async () => {
    const { intent, productId } = await intentOf(10n);
    const controller = new AbortController();
    rig.wire.stall();
    const abandoned = failureOf(submit(intent, { signal: controller.signal }));
    await until('the order', async () => (await ordersOf(intent)) === 1);
    controller.abort();
    await abandoned;
    rig.wire.cut();
    await assertOnce(intent, productId, await submit(reloaded(intent)));
  });

  it('takes an answer that does not come in time for lost, and asks', async () => {
    const { intent, productId } = await intentOf(10n);
    rig.wire.stall();
    const order = submit(intent, { attemptTimeoutMs: 300 });
    await until('two waits', () => states.length >= 3);
    rig.wire.resume();
    await assertOnce(intent, productId, await order);
    assert.deepEqual([...new Set(states)], ['submitting', 'waiting DEADLINE_EXCEEDED', 'done']);
    assert.equal(states.filter((state) => state === 'submitting').length, 1);
  });

  it('sends the same again when nothing came of what it sent', async () => {
    const { intent, productId } = await intentOf(10n);
    rig.wire.refuse();
    const order = submit(intent);
    await until('a wait', () => states.length >= 2);
    rig.wire.allow();
    await assertOnce(intent, productId, await order);
    assert.deepEqual([...new Set(states)], ['submitting', 'waiting UNAVAILABLE', 'done']);
    assert.equal(states.filter((state) => state === 'submitting').length, 2);
  });

  it('waits while it is at work elsewhere', async () => {
    const { intent, productId } = await intentOf(10n);
    const persist = rig.node.sql.hold(/DELETE FROM t_order_claim WHERE order_no IN/);
    const first = submit(reloaded(intent), { attemptTimeoutMs: 20_000 });
    await persist.reached;
    states.length = 0;
    const second = submit(intent, { attemptTimeoutMs: 500 });
    const waits = () => states.filter((state) => state === 'waiting REQUEST_IN_PROGRESS').length;
    // The first one is the answer to what it sent, the next one to what it asked.
    await until('two waits', () => waits() >= 2);
    persist.release();
    assert.equal(states.filter((state) => state === 'submitting').length, 1);
    const order = await second;
    assert.equal((await first).orderNo, order.orderNo);
    await assertOnce(intent, productId, order);
  });

  it('gives up when its time is over, and makes its order when it is submitted again', async () => {
    const { intent, productId } = await intentOf(10n);
    rig.wire.stall();
    const startMs = performance.now();
    const error = await failureOf(submit(intent, { timeoutMs: 400 }));
    assert.ok(performance.now() - startMs < 1_000, 'the attempts are cut to what is left');
    assert.equal(error.advice, 'same_key');
    assert.equal(error.settled, false);
    rig.wire.cut();
    await assertOnce(intent, productId, await submit(intent));
  });

  it('stops when its caller cancels, be it sending or waiting', async () => {
    const { intent, productId } = await intentOf(10n);
    rig.wire.refuse();
    const controller = new AbortController();
    const waiting = failureOf(submit(intent, { signal: controller.signal }));
    await until('a wait', () => states.length >= 2);
    controller.abort(new Error('enough'));
    const error = await waiting;
    assert.deepEqual([error.advice, error.settled], ['same_key', false]);
    rig.wire.allow();
    assert.equal((await failureOf(submit(intent, { signal: controller.signal }))).settled, false);
    await assertOnce(intent, productId, await submit(intent));
  });
});
