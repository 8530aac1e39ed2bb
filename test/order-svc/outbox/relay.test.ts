import assert from 'node:assert/strict';
import { connectStockService } from '../../../client/clients.ts';
import { leaseEvents, type LeasedEvent, settleSent } from '../../../order-svc/db/events.ts';
import { openOrderDb } from '../../../order-svc/db/models.ts';
import { AwayError } from '../../../order-svc/outbox/publisher.ts';
import type { RelayOptions } from '../../../order-svc/outbox/relay.ts';
import { restoreStock } from '../../../order-svc/outbox/restore-stock.ts';
import { until } from '../../support/expect.ts';
import { SqlProxy } from '../../support/sql-proxy.ts';
import { commonError } from '../../../runtime/rpc/errors.ts';
import { StockEdge } from '../../support/stock-edge.ts';
import { databaseUrlOf, useSystem } from '../../support/system.ts';
import { eventState, makeDue, newOrderNo, newRelay, writeEvent } from './event-rig.ts';

describe('the relay', () => {
  const system = useSystem();

  afterEach(() => system.orderDb.EventRecord.destroy({ where: {} }));

  const event = (orderNo?: string, eventType?: string, createTime = new Date()) =>
    writeEvent(system, orderNo, eventType, { create_time: createTime });
  const stateOf = (eventId: string) => eventState(system, eventId);
  const run = (handle: RelayOptions['handle'], options: Partial<RelayOptions> = {}) =>
    newRelay(system.orderDb, handle, options).runOnce();

  it('hands an event on with all that its handler needs, once', async () => {
    const handled: LeasedEvent[] = [];
    const eventId = await event();
    const handle = (one: LeasedEvent) => Promise.resolve(void handled.push(one));
    assert.equal(await run(handle), false);
    assert.equal(await run(handle), false);
    assert.equal(handled.length, 1);
    assert.equal(handled[0]!.eventId, eventId);
    assert.deepEqual(handled[0]!.payload, { some: 'thing' });
    assert.deepEqual(await stateOf(eventId), { status: 'SENT', attempts: 1, due: true });
  });

  it('backs off after a failure, and gives up as DEAD after the last attempt', async () => {
    const eventId = await event();
    const fail = () => Promise.reject(new Error('no'));
    const options = { maxAttempts: 3, backoff: { baseMs: 3_600_000, maxMs: 3_600_000 } };
    for (const attempts of [1, 2]) {
      await run(fail, options);
      assert.deepEqual(await stateOf(eventId), { status: 'WAIT', attempts, due: false });
      await run(() => assert.fail('not due yet'), options);
      await makeDue(system);
    }
    await run(fail, options);
    assert.equal((await stateOf(eventId)).status, 'DEAD');
    await makeDue(system);
    await run(() => assert.fail('it is dead'), options);
  });

  it('lets one failing event hold up no other', async () => {
    const [bad, good] = [await event(), await event()];
    await run((one) => (one.eventId === bad ? Promise.reject(new Error('no')) : Promise.resolve()));
    assert.equal((await stateOf(bad)).status, 'WAIT');
    assert.equal((await stateOf(good)).status, 'SENT');
  });

  it('gives an event to one of two relays that both have seen it', async () => {
    const eventId = await event();
    const proxy = await SqlProxy.to(databaseUrlOf(system.orderDb));
    const slow = openOrderDb({ url: proxy.url });
    const lease = proxy.hold(/UPDATE t_event_record .*SET lease_owner/);
    const late = leaseEvents(slow, 'NEWS', 10, 60_000);
    await lease.reached;
    const [leased] = await leaseEvents(system.orderDb, 'NEWS', 10, 60_000);
    lease.release();
    assert.equal(leased!.eventId, eventId);
    assert.deepEqual(await late, []);
    assert.equal((await stateOf(eventId)).attempts, 1);
    await slow.sequelize.close();
    await proxy.close();
  });

  it('takes over from a relay whose lease has passed, which then settles nothing', async () => {
    const eventId = await event();
    const [lost] = await leaseEvents(system.orderDb, 'NEWS', 1, 60_000);
    await makeDue(system);
    const [taken] = await leaseEvents(system.orderDb, 'NEWS', 1, 60_000);
    assert.equal(taken!.attempts, 2);
    await settleSent(system.orderDb, [lost!]);
    assert.equal((await stateOf(eventId)).status, 'WAIT');
    await settleSent(system.orderDb, [taken!]);
    assert.equal((await stateOf(eventId)).status, 'SENT');
  });

  it('says that there is more when a pass was full, and has it in hand already', async () => {
    const ids = [await event(), await event(), await event()];
    const relay = newRelay(system.orderDb, () => Promise.resolve(), { limit: 2 });
    assert.equal(await relay.runOnce(), true);
    await until('it is leased', async () => (await stateOf(ids[2]!)).attempts === 1);
    assert.equal((await stateOf(ids[2]!)).status, 'WAIT');
    await run(() => assert.fail('it is leased'));
    assert.equal(await relay.runOnce(), false);
    assert.equal((await stateOf(ids[2]!)).status, 'SENT');
  });

  it('gives back what it has in hand when it is stopped', async () => {
    const ids = [await event(), await event()];
    const relay = newRelay(system.orderDb, () => Promise.resolve(), { limit: 1 });
    await relay.runOnce();
    await relay.stop();
    assert.deepEqual(await stateOf(ids[1]!), { status: 'WAIT', attempts: 0, due: true });
  });
});

describe('a relay whose events nobody can take', () => {
  const system = useSystem();

  afterEach(() => system.orderDb.EventRecord.destroy({ where: {} }));

  const away = () => Promise.reject(new AwayError('gone fishing'));
  const untouched = { status: 'WAIT', attempts: 0, due: true };

  it('leaves them where they are while it knows that', async () => {
    const eventId = await writeEvent(system);
    await newRelay(system.orderDb, () => assert.fail('nobody is there'), { isReady: () => false }).runOnce();
    assert.deepEqual(await eventState(system, eventId), untouched);
  });

  it('gives them back as if they had not been tried, however often, and they never become DEAD', async () => {
    const ids = await Promise.all([writeEvent(system), writeEvent(system)]);
    const pause = { baseMs: 0, maxMs: 0 };
    const relay = newRelay(system.orderDb, away, { maxAttempts: 2, pause });
    for (let pass = 0; pass < 5; pass++) await relay.runOnce();
    for (const id of ids) assert.deepEqual(await eventState(system, id), untouched);
  });

  it('gives back what it has in hand already', async () => {
    const ids = [await writeEvent(system), await writeEvent(system)];
    let ready = true;
    const relay = newRelay(system.orderDb, () => Promise.resolve(), { limit: 1, isReady: () => ready });
    await relay.runOnce();
    ready = false;
    await relay.runOnce();
    assert.deepEqual(await eventState(system, ids[1]!), untouched);
  });

  it('asks again only after a pause', async () => {
    await writeEvent(system);
    let asked = 0;
    const pause = { baseMs: 1e15, maxMs: 1e15 };
    const relay = newRelay(system.orderDb, () => (asked++, away()), { pause });
    await relay.runOnce();
    assert.equal(await relay.runOnce(), false);
    assert.equal(relay.isReady(), false);
    assert.equal(asked, 1);
  });

  it('hands on what can be taken meanwhile, and counts what is an event’s own fault', async () => {
    const [missing, bad, good] = [await writeEvent(system), await writeEvent(system), await writeEvent(system)];
    const relay = newRelay(system.orderDb, ({ eventId }) => {
      if (eventId === missing) return away();
      return eventId === bad ? Promise.reject(new Error('no')) : Promise.resolve();
    });
    await relay.runOnce();
    assert.deepEqual(await eventState(system, missing), untouched);
    assert.equal((await eventState(system, bad)).attempts, 1);
    assert.equal((await eventState(system, good)).status, 'SENT');
  });
});

describe('a STOCK_RESTORE', () => {
  const system = useSystem();

  afterEach(() => system.orderDb.EventRecord.destroy({ where: {} }));

  it('waits for a stock-svc that is away, and is carried out when it is back', async () => {
    const edge = await new StockEdge(system.stockAddress).listen();
    const { address } = edge;
    await edge.close();
    const eventId = await writeEvent(system, newOrderNo(), 'STOCK_RESTORE');
    const { client, close } = connectStockService(address);
    const options = { lane: 'JOB' as const, maxAttempts: 1 };
    await newRelay(system.orderDb, (one) => restoreStock(client, one, 300), options).runOnce();
    assert.deepEqual(await eventState(system, eventId), { status: 'WAIT', attempts: 0, due: true });
    close();
    await newRelay(system.orderDb, (one) => restoreStock(system.stock, one, 3000), options).runOnce();
    assert.equal((await eventState(system, eventId)).status, 'SENT');
  });

  it('waits while stock-svc has too much to do', async () => {
    const edge = await new StockEdge(system.stockAddress).listen();
    edge.restores.push(() => Promise.reject(commonError('OVERLOADED', 'too much to do')));
    const eventId = await writeEvent(system, newOrderNo(), 'STOCK_RESTORE');
    const { client, close } = connectStockService(edge.address);
    const options = { lane: 'JOB' as const, maxAttempts: 1 };
    await newRelay(system.orderDb, (one) => restoreStock(client, one, 3000), options).runOnce();
    assert.deepEqual(await eventState(system, eventId), { status: 'WAIT', attempts: 0, due: true });
    close();
    await edge.close();
  });

  it('that stock-svc will not have is tried so often, and then DEAD', async () => {
    const eventId = await writeEvent(system, 'no number', 'STOCK_RESTORE');
    const options = { lane: 'JOB' as const, maxAttempts: 1 };
    await newRelay(system.orderDb, (one) => restoreStock(system.stock, one, 3000), options).runOnce();
    assert.equal((await eventState(system, eventId)).status, 'DEAD');
  });
});

describe('the order of events', () => {
  const system = useSystem();
  let seen: string[];

  beforeEach(() => (seen = []));
  afterEach(() => system.orderDb.EventRecord.destroy({ where: {} }));

  const event = (orderNo: string, eventType: string, day: string) =>
    writeEvent(system, orderNo, eventType, { create_time: new Date(day) });
  const note = (one: LeasedEvent) => Promise.resolve(void seen.push(one.eventId));
  const run = (handle = note, options: Partial<RelayOptions> = {}) =>
    newRelay(system.orderDb, handle, options).runOnce();

  it('is kept within an order: only its oldest waiting event is taken', async () => {
    const orderNo = newOrderNo();
    const first = await event(orderNo, 'Z_FIRST', '2026-01-01');
    const second = await event(orderNo, 'A_SECOND', '2026-01-02');
    const other = await event(newOrderNo(), 'OTHER', '2026-01-03');
    await run();
    assert.deepEqual(seen.toSorted(), [first, other].toSorted());
    await run();
    assert.equal(seen.at(-1), second);
  });

  it('is kept while the first one fails, and after it is DEAD', async () => {
    const orderNo = newOrderNo();
    const first = await event(orderNo, 'Z_FIRST', '2026-01-01');
    await event(orderNo, 'A_SECOND', '2026-01-02');
    for (let attempt = 1; attempt <= 3; attempt++) {
      await run((one) => (one.eventId === first ? Promise.reject(new Error('no')) : note(one)), { maxAttempts: 2 });
      await makeDue(system);
    }
    assert.equal((await eventState(system, first)).status, 'DEAD');
    assert.deepEqual(seen, []);
    await system.orderDb.EventRecord.update({ status: 'WAIT' }, { where: { event_id: first } });
    await run();
    await run();
    assert.deepEqual(seen, [first, `${orderNo}.A_SECOND`]);
  });

  it('is kept across two relays of which one has the first in hand', async () => {
    const orderNo = newOrderNo();
    const first = await event(orderNo, 'Z_FIRST', '2026-01-01');
    const second = await event(orderNo, 'A_SECOND', '2026-01-02');
    const [taken, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = run(async (one) => {
      taken.resolve();
      await gate.promise;
      await note(one);
    });
    await taken.promise;
    await run();
    assert.deepEqual(seen, []);
    gate.resolve();
    await slow;
    await run();
    assert.deepEqual(seen, [first, second]);
  });

  it('says nothing of jobs: neither do they wait for news nor news for them', async () => {
    const orderNo = newOrderNo();
    const created = await event(orderNo, 'ORDER_CREATED', '2026-01-01');
    const restore = await event(orderNo, 'STOCK_RESTORE', '2026-01-02');
    const cancelled = await event(orderNo, 'ORDER_CANCELLED', '2026-01-03');
    await run(note, { lane: 'JOB' });
    assert.deepEqual(seen, [restore]);
    await system.orderDb.EventRecord.update({ status: 'WAIT' }, { where: { event_id: restore } });
    await run();
    await run();
    assert.deepEqual(seen, [restore, created, cancelled]);
  });
});
