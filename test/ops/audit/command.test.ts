import assert from 'node:assert/strict';
import { findBrokenRules } from '../../../ops/audit/audit.ts';
import { repair } from '../../../ops/audit/repair.ts';
import { stageRestore } from '../../../ops/db/change-events.ts';
import { as, availableOf, newKey, product, relay, startSystem, type System } from '../../support/system.ts';
import { newRelay } from '../../order-svc/outbox/event-rig.ts';
import { type Ended, opsEnv, runOps } from '../run-ops.ts';

interface Document {
  ok: boolean;
  numbers: number;
  duration_ms: number;
  complete: boolean;
  findings: Record<string, unknown>[];
}

describe('ordersystem audit', function () {
  this.timeout(60_000);
  let system: System;
  let tea: bigint;
  let orderNo: string;
  const ops = (...args: string[]) => runOps(['audit', ...args], opsEnv(system));
  const json = ({ stdout }: Ended) => JSON.parse(stdout) as Document;

  before(async () => {
    system = await startSystem();
    const node = await system.orderNode();
    tea = await product(system, 100n);
    const items = [{ productId: tea, quantity: 3n }];
    orderNo = (await node.client.createOrder({ clientRequestId: newKey(), items }, as(1))).order!.orderNo;
  });
  afterEach(() => system.audit());
  after(() => system.stop());

  it('says that every rule holds, with status 0', async () => {
    const { status, stdout, stderr } = await ops();
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /^1 numbers in \d+\.\d s: every rule holds\n$/);
    const { duration_ms: durationMs, ...document } = json(await ops('--json'));
    assert.deepEqual(document, { ok: true, numbers: 1, complete: true, findings: [] });
    assert.ok(durationMs >= 0);
  });

  it('names what is broken and what a repair would do, with status 1', async () => {
    const { StockDeduction, StockRecord, Stock } = system.stockDb;
    await system.stock.deduct({ orderNo: 'stray', items: [{ productId: tea, quantity: 2n }] });
    await Stock.increment({ available: 1 }, { where: { product_id: String(tea) } });
    const { status, stdout } = await ops();
    const document = json(await ops('--json'));
    await Stock.increment({ available: -1 }, { where: { product_id: String(tea) } });
    assert.equal(status, 1);
    const [head, sum, leak, , foot] = stdout.split('\n');
    assert.match(head!, /^broken rule +--repair does +what is wrong$/);
    assert.match(sum!, new RegExp(`^LEDGER_SUM +nothing: a person decides +product ${tea}: available 96, ledger 95$`));
    assert.match(leak!, /^STOCK_TAKEN_FOR_NOTHING  stage STOCK_RESTORE +stray took \d+×2, and there is no order$/);
    assert.match(foot!, /^2 numbers in .* s: 2 findings$/);
    assert.deepEqual(document.findings, [
      {
        rule: 'LEDGER_SUM',
        order_no: null,
        product_id: String(tea),
        client_request_id: null,
        event_id: null,
        message: `product ${tea}: available 96, ledger 95`,
        repair: null,
        repaired: false,
      },
      {
        rule: 'STOCK_TAKEN_FOR_NOTHING',
        order_no: 'stray',
        product_id: null,
        client_request_id: null,
        event_id: null,
        message: `stray took ${tea}×2, and there is no order`,
        repair: 'STAGE_RESTORE',
        repaired: false,
      },
    ]);
    assert.deepEqual([document.ok, document.complete], [false, true]);

    const one = json(await ops('--limit', '1', '--json'));
    assert.deepEqual([one.findings.length, one.complete], [1, false]);
    await system.stock.restore({ orderNo: 'stray' });
    await StockDeduction.destroy({ where: { order_no: 'stray' } });
    await StockRecord.destroy({ where: { order_no: 'stray' } });
  });

  it('repairs a leak: it stages the STOCK_RESTORE event that the relay carries out', async () => {
    await relay(system);
    const before = await availableOf(system, tea);
    await system.stock.deduct({ orderNo: 'leak', items: [{ productId: tea, quantity: 2n }] });
    const { status, stdout, stderr } = await ops('--repair', '--yes');
    assert.equal(status, 1, 'it was broken');
    assert.equal(stderr, 'stage STOCK_RESTORE: leak\n');
    assert.match(stdout, /: 1 findings\n1 repaired\n$/);
    const event = await system.orderDb.EventRecord.findOne({ where: { order_no: 'leak' }, raw: true });
    assert.deepEqual([event!.event_id, event!.status], ['leak.STOCK_RESTORE', 'WAIT']);
    assert.deepEqual(event!.payload, { order_no: 'leak', items: [{ product_id: String(tea), quantity: '2' }] });
    assert.equal((await ops('--repair')).status, 0, 'nothing is left to ask for');
    await relay(system);
    assert.equal(await availableOf(system, tea), before);
    assert.equal((await ops()).status, 0);
  });

  it('repairs a leak whose STOCK_RESTORE event is SENT: it is due again', async () => {
    const before = await availableOf(system, tea);
    await system.stock.deduct({ orderNo: 'again', items: [{ productId: tea, quantity: 2n }] });
    const row = { event_id: 'again.STOCK_RESTORE', order_no: 'again', event_type: 'STOCK_RESTORE', payload: {} };
    await system.orderDb.EventRecord.create({ ...row, status: 'SENT', attempts: 9 });
    const document = json(await ops('--repair', '--yes', '--json'));
    assert.deepEqual(
      document.findings.map((finding) => [finding['order_no'], finding['repair'], finding['repaired']]),
      [['again', 'STAGE_RESTORE', true]],
    );
    await relay(system);
    assert.equal(await availableOf(system, tea), before);
    assert.equal((await ops()).status, 0);
  });

  it('repairs nothing that does not hold any more when somebody has said yes', async () => {
    const databases = { order: system.orderDb.sequelize, stock: system.stockDb.sequelize };
    await system.stock.deduct({ orderNo: 'meanwhile', items: [{ productId: tea, quantity: 2n }] });
    const [leak] = await findBrokenRules(databases);
    assert.equal(leak!.repair, 'STAGE_RESTORE');
    await system.stock.restore({ orderNo: 'meanwhile' });
    assert.equal(await repair(databases, databases.order, leak!), false);

    await system.stock.deduct({ orderNo: 'claimed', items: [{ productId: tea, quantity: 2n }] });
    const claim = {
      order_no: 'claimed',
      client_request_id: null,
      user_id: '1',
      fingerprint: Buffer.alloc(32),
      items: [],
    };
    await system.orderDb.OrderClaim.create({ ...claim, expire_time: new Date('2099-01-01') });
    assert.equal(await repair(databases, databases.order, { ...leak!, orderNo: 'claimed' }), false);
    assert.equal(await stageRestore(databases.order, 'claimed', []), false);
    assert.equal(await system.orderDb.EventRecord.count({ where: { order_no: ['meanwhile', 'claimed'] } }), 0);
    await system.stock.restore({ orderNo: 'claimed' });
    await system.orderDb.OrderClaim.destroy({ where: {} });
  });

  it('reports what is DEAD, and requeues it', async () => {
    const where = { event_id: `${orderNo}.ORDER_CREATED` };
    await system.orderDb.EventRecord.update(
      { status: 'DEAD', attempts: 50, last_error: 'Error: no', lease_time: null, lease_owner: null },
      { where },
    );
    const first = await ops('--repair', '--yes', '--json');
    assert.equal(first.status, 1);
    assert.deepEqual(json(first).findings, [
      {
        rule: 'EVENT_DEAD',
        order_no: orderNo,
        product_id: null,
        client_request_id: null,
        event_id: where.event_id,
        message: `event ${where.event_id} has failed 50 times: Error: no`,
        repair: 'REQUEUE',
        repaired: true,
      },
    ]);
    assert.equal((await ops()).status, 0);
    await newRelay(system.orderDb, () => Promise.resolve()).runOnce();
    const sent = await system.orderDb.EventRecord.findOne({ where, raw: true, rejectOnEmpty: true });
    assert.deepEqual([sent.status, sent.attempts], ['SENT', 1]);
  });

  it('repairs nothing that needs a person', async () => {
    const where = { order_no: orderNo };
    await system.orderDb.Order.update({ total_amount: '1.00' }, { where });
    const { status, stdout } = await ops('--repair', '--yes');
    await system.orderDb.Order.update({ total_amount: '7.50' }, { where });
    assert.equal(status, 1);
    assert.match(stdout, /^TOTAL_DIFFERS  nothing: a person decides  .*\n\n.*\n0 repaired\n$/m);
  });

  it('looks only at orders since a time', async () => {
    const since = async (time: string) => json(await ops('--since', time, '--json')).numbers;
    const later = new Date(Date.now() + 3_600_000).toISOString();
    assert.equal((await since('1h')) - (await since(later)), 1);
  });

  it('misses the events of an old order unless they may have been deleted', async () => {
    const { Order, EventRecord } = system.orderDb;
    const created = { event_id: `${orderNo}.ORDER_CREATED` };
    await EventRecord.update({ event_type: 'OTHER' }, { where: created });
    await Order.update({ create_time: new Date(Date.now() - 2 * 86_400_000) }, { where: { order_no: orderNo } });
    const [byDefault, shorter, byVariable, forEver] = await Promise.all([
      ops(),
      ops('--retention', '24h'),
      runOps(['audit'], { ...opsEnv(system), EVENT_RETENTION_MS: '86400000' }),
      runOps(['audit'], { ...opsEnv(system), EVENT_RETENTION_MS: '0' }),
    ]);
    await EventRecord.update({ event_type: 'ORDER_CREATED' }, { where: created });
    assert.deepEqual([byDefault.status, shorter.status, byVariable.status, forEver.status], [1, 0, 0, 1]);
  });
});
