import assert from 'node:assert/strict';
import { findBrokenRules } from '../../../dev/audit.ts';
import { deleteSent } from '../../../order-svc/db/events.ts';
import { until } from '../../support/expect.ts';
import { as, newKey, product, startSystem, type System } from '../../support/system.ts';
import { eventState, newOrderNo, newRelay, writeEvent } from './event-rig.ts';

const HOUR_MS = 3_600_000;

// No audit after each test: it would miss the events that are deleted here.
describe('events that were sent', () => {
  let system: System;

  before(async () => void (system = await startSystem()));
  afterEach(() => system.orderDb.EventRecord.destroy({ where: {} }));
  after(() => system.stop());

  async function event(status: string, sentMs: number, eventType = 'ORDER_TEST') {
    const eventId = await writeEvent(system, newOrderNo(), eventType);
    const next_retry_time = new Date(Date.now() - sentMs);
    await system.orderDb.EventRecord.update({ status, next_retry_time } as object, { where: { event_id: eventId } });
    return eventId;
  }
  const left = async () => {
    const rows = await system.orderDb.EventRecord.findAll({ raw: true });
    return rows.map((row) => row.event_id).sort();
  };

  it('are deleted when they are old, some at a time, and nothing else is', async () => {
    for (let i = 0; i < 5; i++) await event('SENT', 2 * HOUR_MS);
    for (let i = 0; i < 3; i++) await event('SENT', 2 * HOUR_MS, 'STOCK_RESTORE');
    const kept = [await event('SENT', HOUR_MS / 2), await event('WAIT', 2 * HOUR_MS), await event('DEAD', 2 * HOUR_MS)];
    const more = [];
    for (let pass = 0; pass < 4; pass++) more.push(await deleteSent(system.orderDb, HOUR_MS, 2));
    assert.deepEqual(more, [true, true, false, false]);
    assert.deepEqual(await left(), kept.sort());
  });

  it('are deleted by several at once', async () => {
    for (let i = 0; i < 40; i++) await event('SENT', 2 * HOUR_MS);
    await Promise.all([1, 2, 3, 4].map(() => deleteSent(system.orderDb, HOUR_MS, 40)));
    assert.deepEqual(await left(), []);
  });

  it('count from when they were sent, however long they had waited', async () => {
    const eventId = await event('WAIT', 100 * HOUR_MS);
    await newRelay(system.orderDb, () => Promise.resolve()).runOnce();
    assert.equal((await eventState(system, eventId)).status, 'SENT');
    assert.equal(await deleteSent(system.orderDb, HOUR_MS, 10), false);
    assert.deepEqual(await left(), [eventId]);
  });

  it('are deleted by the service itself, and the audit misses only those of new orders', async () => {
    const { client } = await system.orderNode({ EVENT_RETENTION_MS: '1', RELAY_INTERVAL_MS: '50' });
    const tea = await product(system, 5n);
    await client.createOrder({ clientRequestId: newKey(), items: [{ productId: tea, quantity: 1n }] }, as(1));
    await until('its event is deleted', async () => (await left()).length === 0);
    assert.deepEqual(await findBrokenRules(system.orderDb, system.stockDb, 1), []);
    assert.match((await findBrokenRules(system.orderDb, system.stockDb)).join(), /has 0 ORDER_CREATED events/);
  });
});
