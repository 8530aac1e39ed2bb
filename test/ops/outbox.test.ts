import assert from 'node:assert/strict';
import type { LeasedEvent } from '../../order-svc/db/events.ts';
import { Relay } from '../../order-svc/outbox/relay.ts';
import { silentLogger } from '../../runtime/lifecycle/logger.ts';
import { as, newKey, product, useSystem } from '../support/system.ts';
import { type Ended, opsEnv, runOps } from './run-ops.ts';

describe('ordersystem outbox', function () {
  this.timeout(60_000);
  const system = useSystem();
  let orders: string[];
  const ops = (...args: string[]) => runOps(['outbox', ...args], opsEnv(system));
  const json = ({ stdout }: Ended) => JSON.parse(stdout) as Record<string, unknown>;
  const created = (i: number) => `${orders[i]}.ORDER_CREATED`;

  before(async () => {
    const node = await system.orderNode();
    const tea = await product(system, 100n);
    orders = [];
    for (let i = 0; i < 3; i++) {
      const request = { clientRequestId: newKey(), items: [{ productId: tea, quantity: 1n }] };
      orders.push((await node.client.createOrder(request, as(1))).order!.orderNo);
    }
  });
  beforeEach(() =>
    system.orderDb.EventRecord.update(
      {
        status: 'WAIT',
        attempts: 0,
        next_retry_time: new Date(0),
        last_error: null,
        lease_time: null,
        lease_owner: null,
      },
      { where: {} },
    ),
  );

  const stateOf = async (eventId: string) => {
    const where = { event_id: eventId };
    const row = await system.orderDb.EventRecord.findOne({ where, raw: true, rejectOnEmpty: true });
    return [row.status, row.attempts, row.next_retry_time!.getTime() <= Date.now()];
  };
  /** A relay at which these events fail, for the last time or not. Returns what it has handed on. */
  async function relay(failing: readonly string[] = [], maxAttempts = 1): Promise<string[]> {
    const handed: string[] = [];
    const handle = (event: LeasedEvent) => {
      if (failing.includes(event.eventId)) return Promise.reject(new Error('the broker said no\n'.repeat(100)));
      handed.push(event.eventId);
      return Promise.resolve();
    };
    const options = { lane: 'NEWS' as const, handle, leaseMs: 30_000, maxAttempts, logger: silentLogger };
    await new Relay(system.orderDb, options).runOnce();
    return handed;
  }
  async function later(i: number, eventType = 'ORDER_TEST') {
    const row = { event_id: `${orders[i]}.${eventType}`, order_no: orders[i]!, event_type: eventType, payload: {} };
    await system.orderDb.EventRecord.create(row);
    return row.event_id;
  }

  it('lists what is not SENT, with the error of the last attempt', async () => {
    await relay([created(0)]);
    await relay([created(1)], 5);
    const { status, stdout } = await ops('list');
    assert.equal(status, 0);
    const lines = stdout.split('\n');
    assert.match(lines[0]!, /^event +status  attempts  created +due +last error$/);
    assert.match(lines[1]!, new RegExp(`^${created(0)}  DEAD +1  20.*  Error: the broker said no\ufffdthe broker`));
    assert.match(stdout, /\n\n1 of these: 1 ORDER_CREATED DEAD\n$/);

    const dead = json(await ops('list', '--dead', '--type', 'ORDER_CREATED', '--json')) as {
      counts: unknown;
      events: Record<string, unknown>[];
    };
    assert.deepEqual(dead.counts, [{ status: 'DEAD', event_type: 'ORDER_CREATED', events: 1 }]);
    assert.equal(dead.events.length, 1);
    assert.equal(String(dead.events[0]!['last_error']).length, 512);
    assert.deepEqual(Object.keys(dead.events[0]!), [
      'event_id',
      'order_no',
      'event_type',
      'status',
      'attempts',
      'create_time',
      'next_retry_time',
      'lease_time',
      'last_error',
    ]);
    assert.equal((await ops('list', '--status', 'PARKED')).stdout, 'no such events\n');
    const sent = json(await ops('list', '--status', 'SENT', '--limit', '1', '--json')) as { events: unknown[] };
    assert.equal(sent.events.length, 1);
  });

  it('shows one event with what its handler gets', async () => {
    await relay([created(0)]);
    const { status, stdout } = await ops('show', created(0));
    assert.equal(status, 0);
    assert.match(stdout, new RegExp(`^event +${created(0)}\norder +${orders[0]}\ntype +ORDER_CREATED\nstatus +DEAD\n`));
    assert.match(stdout, /\nlast error +Error: the broker said no/);
    assert.match(stdout, new RegExp(`\n\n\\{\n[^]*  "order_no": "${orders[0]}"`));
    const document = json(await ops('show', created(0), '--json'));
    assert.equal((document['payload'] as Record<string, unknown>)['order_no'], orders[0]);

    const gone = await ops('show', 'x.ORDER_CREATED');
    assert.deepEqual(gone, { status: 1, stdout: '', stderr: 'ordersystem: there is no event x.ORDER_CREATED\n' });
  });

  it('requeues what is DEAD: it is due now, with all its attempts before it', async () => {
    await relay([created(0), created(1), created(2)]);
    const { status, stdout, stderr } = await ops('requeue', created(0), '--yes');
    assert.deepEqual([status, stdout], [0, `requeued: ${created(0)}\n`]);
    assert.equal(stderr, `${created(0)} is DEAD, will be due now\n`);
    assert.deepEqual(await stateOf(created(0)), ['WAIT', 0, true]);
    assert.deepEqual(await stateOf(created(1)), ['DEAD', 1, true]);

    const all = await ops('requeue', '--all-dead', '--yes');
    assert.deepEqual([all.status, all.stdout], [0, '2 events are requeued\n']);
    assert.equal(all.stderr, '2 ORDER_CREATED will be due now\n');
    assert.deepEqual(await relay(), [created(0), created(1), created(2)].toSorted());
    assert.equal((await ops('requeue', '--all-dead', '--yes')).stdout, 'no event is DEAD\n');
  });

  it('requeues what waits for its next attempt', async () => {
    await relay([created(0)], 50);
    await system.orderDb.EventRecord.update({ next_retry_time: new Date('2099-01-01') }, { where: { attempts: 1 } });
    assert.equal((await ops('requeue', created(0), '--yes')).status, 0);
    assert.deepEqual(await stateOf(created(0)), ['WAIT', 0, true]);
  });

  it('leaves what is SENT, in the hands of a relay, or not there, with status 1, and does the others', async () => {
    await relay([created(1)], 1);
    const where = { event_id: created(2) };
    await system.orderDb.EventRecord.update(
      { status: 'WAIT', lease_owner: 'somebody', lease_time: new Date('2099-01-01') },
      { where },
    );
    for (const [command, done] of [
      ['requeue', 'requeued'],
      ['park', 'parked'],
    ]) {
      const ids = [created(0), created(1), created(2), 'x.ORDER_CREATED'];
      const result = await ops(command!, ...ids, '--yes', '--json');
      assert.equal(result.status, 1);
      assert.deepEqual(json(result), { [done!]: [created(1)], left: [created(0), created(2), 'x.ORDER_CREATED'] });
    }
    assert.deepEqual(await stateOf(created(0)), ['SENT', 1, true]);
  });

  it('parks an event: nobody tries it, those of its order go on without it, and once requeued it comes after them', async () => {
    const second = await later(0);
    assert.deepEqual((await relay([created(0)])).toSorted(), [created(1), created(2)].toSorted());
    assert.deepEqual(await relay(), [], 'what is DEAD is in the way');
    const { status, stdout } = await ops('park', created(0), '--yes');
    assert.deepEqual([status, stdout], [0, `parked: ${created(0)}\n`]);
    assert.deepEqual(await relay(), [second]);
    assert.deepEqual(await relay(), []);
    assert.equal((await ops('requeue', created(0), '--yes')).status, 0);
    assert.deepEqual(await relay(), [created(0)]);
    await system.orderDb.EventRecord.destroy({ where: { event_id: second } });
  });

  it('keeps the audit content with a STOCK_RESTORE that is parked: its stock is not forgotten', async () => {
    const { orderDb } = system;
    await orderDb.Order.update({ status: 'CANCELLED' }, { where: { order_no: orders[0]! } });
    const [told, restore] = [await later(0, 'ORDER_CANCELLED'), await later(0, 'STOCK_RESTORE')];
    assert.equal((await ops('park', restore, '--yes')).status, 0);
    await system.audit();
    await orderDb.Order.update({ status: 'WAIT_PAY' }, { where: { order_no: orders[0]! } });
    await orderDb.EventRecord.destroy({ where: { event_id: [told, restore] } });
  });
});
