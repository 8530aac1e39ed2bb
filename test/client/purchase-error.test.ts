import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import { PurchaseError, PurchaseIntent } from '../../client/purchase-intent.ts';
import { orderError, orderReasons } from '../../order-svc/domain/reasons.ts';
import { commonError, errorsOf } from '../../runtime/rpc/errors.ts';
import { product } from '../support/system.ts';
import { failureOf, usePurchases } from './purchase-rig.ts';

const INT64_MAX = 2n ** 63n - 1n;

describe('a PurchaseError', () => {
  const rig = usePurchases();
  const { intentOf, submit, assertOnce, ordersOf } = rig;

  it('says that another cart is another intent when a product is sold out, and what is left', async () => {
    const { intent, productId } = await intentOf(2n, 3n);
    const error = await failureOf(submit(intent));
    const { advice, settled, reason, metadata } = error;
    assert.deepEqual({ advice, settled, reason }, { advice: 'new_key', settled: true, reason: 'INSUFFICIENT_STOCK' });
    assert.deepEqual(metadata, { retry: 'new_key', product_id: String(productId), asked: '3', available: '2' });
    assert.match(error.message, /\(INSUFFICIENT_STOCK\): there is no order; another cart is another intent/);
    assert.deepEqual(rig.states, ['submitting']);
    assert.equal(await ordersOf(intent), 0);
  });

  it('tells the price that a product has now', async () => {
    const productId = await product(rig.system, 5n, 250n);
    const intent = PurchaseIntent.create([{ productId, quantity: 1n, unitPriceCents: 200n }]);
    const { settled, reason, metadata } = await failureOf(submit(intent));
    assert.deepEqual([settled, reason, metadata['unit_price_cents']], [true, 'PRICE_CHANGED', '250']);
  });

  it('names the fields of a request that can never be one', async () => {
    const intent = PurchaseIntent.create([{ productId: INT64_MAX, quantity: 0n }]);
    const { advice, settled, reason, fieldViolations } = await failureOf(submit(intent));
    assert.deepEqual({ advice, settled, reason }, { advice: 'never', settled: true, reason: 'INVALID_REQUEST' });
    assert.deepEqual(
      fieldViolations.map(({ field }) => field),
      ['items[0].quantity'],
    );
    assert.match(fieldViolations[0]!.description, /must be 1 to 1000000/);
  });

  it('keeps the intent of a user who is not signed in: a request before may have made the order', async () => {
    const { intent, productId } = await intentOf(5n);
    const error = await failureOf(submit(intent, { headers: {} }));
    const { advice, settled, reason } = error;
    assert.deepEqual({ advice, settled, reason }, { advice: 'never', settled: false, reason: 'UNAUTHENTICATED' });
    assert.match(error.message, /there may be an order; put this right, and submit the same intent again/);
    await assertOnce(intent, productId, await submit(intent));
  });

  it('asks for a new intent when somebody has put another cart into a saved one', async () => {
    const { intent, productId } = await intentOf(5n);
    const order = await submit(intent);
    const items = [{ productId: String(productId), quantity: '2' }];
    const edited = PurchaseIntent.fromJSON({ ...intent.toJSON(), items });
    const error = await failureOf(submit(edited));
    assert.deepEqual([error.settled, error.reason], [true, 'CLIENT_REQUEST_ID_CONFLICT']);
    assert.match(error.message, /another cart is another intent, so make a new one/);
    await assertOnce(intent, productId, order);
  });

  it('is waited out, as long as the service says, while its database is away', async () => {
    const { intent, productId } = await intentOf(5n);
    rig.node.sql.refuse();
    const startMs = performance.now();
    const order = submit(intent, {
      onProgress: ({ state }) => {
        if (state === 'waiting') rig.node.sql.allow();
      },
    });
    await assertOnce(intent, productId, await order);
    assert.ok(performance.now() - startMs >= 999, 'RetryInfo says 1 s');
  });

  it('has the reason and the advice of the catalogue, whatever they are', () => {
    for (const [name, reason] of Object.entries(orderReasons)) {
      const error = new PurchaseError(errorsOf({ [name]: reason })(name, 'told'));
      assert.deepEqual([error.reason, error.advice], [name, reason.retry]);
    }
  });

  it('settles nothing where a request before may have left an order', () => {
    const open = [
      ...(['SERVICE_UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED', 'INTERNAL', 'REQUEST_IN_PROGRESS'] as const),
      ...(['ATTEMPT_EXPIRED', 'UNAUTHENTICATED', 'PERMISSION_DENIED'] as const),
    ];

    for (const name of open) assert.equal(new PurchaseError(orderError(name, 'told')).settled, false, name);
  });

  it('settles nothing when it was not the service that answered, and is repeated unless a repeat changes nothing', () => {
    const codes = Object.values(Code).filter((code) => typeof code === 'number');
    const errors = codes.map((code) => new PurchaseError(new ConnectError('from a proxy', code)));
    assert.ok(errors.every(({ settled }) => !settled));
    const never = errors.filter(({ advice }) => advice === 'never').map(({ reason }) => reason);
    assert.deepEqual(never, [
      'INVALID_ARGUMENT',
      'NOT_FOUND',
      'PERMISSION_DENIED',
      'FAILED_PRECONDITION',
      'UNIMPLEMENTED',
      'UNAUTHENTICATED',
    ]);
    assert.equal(new PurchaseError(new TypeError('a fault')).advice, 'same_key');
  });

  it('waits no time that nobody asked for', () => {
    assert.equal(new PurchaseError(commonError('INTERNAL', 'told')).retryAfterMs, 0);
    assert.equal(new PurchaseError(commonError('SERVICE_UNAVAILABLE', 'told')).retryAfterMs, 1000);
  });
});
