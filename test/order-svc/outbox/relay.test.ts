import assert from 'node:assert/strict';
import { leaseEvents, type LeasedEvent, settleSent } from '../../../order-svc/db/events.ts';
import { openOrderDb } from '../../../order-svc/db/models.ts';
import { relayOnce, type RelayOptions } from '../../../order-svc/outbox/relay.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { SqlProxy } from '../../support/sql-proxy.ts';
import { databaseUrlOf, useSystem } from '../../support/system.ts';

describe('the relay', () => {
  const system = useSystem();
  let last = 0;

  afterEach(() => system.orderDb.EventRecord.destroy({ where: {} }));

  /** An event that the audit does not miss an order for. */
  async function event(orderNo = String(++last), eventType = 'ORDER_TEST', createTime = new Date()): Promise<string> {
    const eventId = `${orderNo}.${eventType}`;
    const row = { event_id: eventId, order_no: orderNo, event_type: eventType, payload: { some: 'thing' } };
    await system.orderDb.EventRecord.create({ ...row, create_time: createTime });
    return eventId;
  }
  const stateOf = async (eventId: string) => {
    const row = await system.orderDb.EventRecord.findOne({
      where: { event_id: eventId },
      raw: true,
      rejectOnEmpty: true,
    });
    return {
      status: row.status,
      attempts: row.attempts,
      due: row.next_retry_time!.getTime() <= Date.now() && !row.lease_time,
    };
  };
  const makeDue = () =>
    system.orderDb.EventRecord.update(
      { next_retry_time: new Date(0), lease_time: null },
      { where: { status: 'WAIT' } },
    );
  const run = (handle: RelayOptions['handle'], options: Partial<RelayOptions> = {}) =>
    relayOnce(system.orderDb, { handle, leaseMs: 30_000, maxAttempts: 50, logger: silentLogger, ...options });

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
      await makeDue();
    }
    await run(fail, options);
    assert.equal((await stateOf(eventId)).status, 'DEAD');
    await makeDue();
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
    const lease = proxy.hold(/UPDATE t_event_record SET lease_owner/);
    const late = leaseEvents(slow, 10, 60_000);
    await lease.reached;
    const [leased] = await leaseEvents(system.orderDb, 10, 60_000);
    lease.release();
    assert.equal(leased!.eventId, eventId);
    assert.deepEqual(await late, []);
    assert.equal((await stateOf(eventId)).attempts, 1);
    await slow.sequelize.close();
    await proxy.close();
  });

  it('takes over from a relay whose lease has passed, which then settles nothing', async () => {
    const eventId = await event();
    const [lost] = await leaseEvents(system.orderDb, 1, 60_000);
    await makeDue();
    const [taken] = await leaseEvents(system.orderDb, 1, 60_000);
    assert.equal(taken!.attempts, 2);
    await settleSent(system.orderDb, [lost!]);
    assert.equal((await stateOf(eventId)).status, 'WAIT');
    await settleSent(system.orderDb, [taken!]);
    assert.equal((await stateOf(eventId)).status, 'SENT');
  });

  it('keeps the order within an order: only its oldest waiting event is taken', async () => {
    const orderNo = String(++last);
    const first = await event(orderNo, 'Z_FIRST', new Date('2026-01-01'));
    const second = await event(orderNo, 'A_SECOND', new Date('2026-01-02'));
    const other = await event();
    const seen: string[] = [];
    const handle = (one: LeasedEvent) => Promise.resolve(void seen.push(one.eventId));
    await run(handle);
    assert.deepEqual(seen.toSorted(), [first, other].toSorted());
    await run(handle);
    assert.equal(seen.at(-1), second);
  });

  it('says that there is more when a pass was full', async () => {
    await Promise.all([event(), event(), event()]);
    assert.equal(await run(() => Promise.resolve(), { limit: 2 }), true);
    assert.equal(await run(() => Promise.resolve(), { limit: 2 }), false);
  });
});
