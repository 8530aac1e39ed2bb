import assert from 'node:assert/strict';
import { insertClaims } from '../../../order-svc/db/claims.ts';
import { readIntent } from '../../../order-svc/domain/intent.ts';
import { createOrder } from '../../../order-svc/saga/create-order.ts';
import { createBatches } from '../../../order-svc/saga/batches.ts';
import { InFlight } from '../../../order-svc/saga/in-flight.ts';
import type { Call, Saga } from '../../../order-svc/saga/saga.ts';
import { reapOnce } from '../../../order-svc/saga/reaper.ts';
import { Bound } from '../../../runtime/rpc/overload.ts';
import { CallLog, silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { availableOf, expireClaims, movementsOf, newKey, product, relay, useSystem } from '../../support/system.ts';

describe('an order number that is taken', () => {
  const system = useSystem();
  let last = 0;
  let tea: bigint;
  let taken: string;

  beforeEach(async () => {
    tea = await product(system, 9n);
    taken = number();
    await create([taken], 1n);
  });

  const number = () => String(++last);
  const unleased = { lease: () => undefined, push: () => undefined };

  /** Runs the saga on the real database and the real stock-svc, with numbers that the test chooses. */
  function create(numbers: string[], quantity: bigint) {
    const saga: Saga = {
      db: system.orderDb,
      stock: system.stock,
      numbers: { next: () => Promise.resolve(numbers.shift()!) },
      inFlight: new InFlight(),
      newOrders: new Bound('new orders', 100, silentLogger),
      wakeRelay: () => undefined,
      batches: createBatches(system.orderDb, system.stock, unleased, 1),
      claimMarginMs: 1000,
      compensationMs: 1000,
    };
    const call: Call = {
      signal: new AbortController().signal,
      timeoutMs: () => 5000,
      log: new CallLog(silentLogger),
    };
    return createOrder(saga, intent(quantity), call);
  }

  const intent = (quantity: bigint) =>
    readIntent(1n, {
      $typeName: 'ordersystem.order.v1.CreateOrderRequest',
      clientRequestId: newKey(),
      items: [{ $typeName: 'ordersystem.order.v1.CreateOrderItem', productId: tea, quantity }],
    });

  it('by an order of the same items: a new number, and that order keeps its stock', async () => {
    const free = number();
    assert.equal((await create([taken, free], 1n)).order.orderNo, free);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'DEDUCT 1']);
    assert.equal(await system.orderDb.OrderClaim.count(), 0);
  });

  it('by an order of other items: a new number, and that order keeps its stock', async () => {
    const free = number();
    assert.equal((await create([taken, free], 2n)).order.orderNo, free);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'DEDUCT 2']);
  });

  it('by an attempt that is at work: a new number', async () => {
    const [claimed, free] = [number(), number()];
    await insertClaims(system.orderDb, [{ orderNo: claimed, intent: intent(1n), leaseMs: 60_000 }]);
    assert.equal((await create([claimed, free], 1n)).order.orderNo, free);
    assert.equal(await system.orderDb.OrderClaim.count(), 1, 'the other attempt keeps its claim');
    await expireClaims(system);
    await reapOnce(system.orderDb, silentLogger);
    await relay(system);
  });

  it('by an order, found out by the reaper: the order keeps its stock', async () => {
    await insertClaims(system.orderDb, [{ orderNo: taken, intent: intent(1n), leaseMs: 60_000 }]);
    await expireClaims(system);
    await reapOnce(system.orderDb, silentLogger);
    assert.equal(await system.orderDb.OrderClaim.count(), 0);
    assert.equal(
      await system.orderDb.EventRecord.count({ where: { order_no: taken, event_type: 'STOCK_RESTORE' } }),
      0,
    );
    await relay(system);
    assert.equal(await availableOf(system, tea), 8n);
  });
});
