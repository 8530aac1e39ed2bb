import assert from 'node:assert/strict';
import { as, newKey, type OrderNode, product, relay, useSystem } from '../support/system.ts';
import { untilGivenUp } from '../support/stock-edge.ts';
import { type Ended, opsEnv, runOps } from './run-ops.ts';

const json = ({ stdout }: Ended) => JSON.parse(stdout) as Record<string, unknown>;
const shapeOf = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.slice(0, 1).map(shapeOf)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]))
      : value === null
        ? null
        : typeof value;

describe('ordersystem', function () {
  this.timeout(60_000);
  const system = useSystem();
  let node: OrderNode;
  let tea: bigint;
  const ops = (...args: string[]) => runOps(args, opsEnv(system));

  before(async () => {
    // An attempt that waits for its stock waits until its caller hangs up.
    node = await system.orderNode({ STOCK_ATTEMPT_MS: '60000' });
    tea = await product(system, 100n);
  });

  async function buy() {
    const clientRequestId = newKey();
    const { order } = await node.client.createOrder(
      { clientRequestId, items: [{ productId: tea, quantity: 2n }] },
      as(7),
    );
    return { key: clientRequestId, orderNo: order!.orderNo };
  }

  /** An attempt that waits for its stock. `end` lets it fail. */
  async function atWork() {
    const reached = Promise.withResolvers<void>();
    node.edge.deducts.push((_forward, context) => {
      reached.resolve();
      return untilGivenUp(context);
    });
    const key = newKey();
    const abort = new AbortController();
    const call = node.client.createOrder(
      { clientRequestId: key, items: [{ productId: tea, quantity: 1n }] },
      as(7, { signal: abort.signal, timeoutMs: 30_000 }),
    );
    call.catch(() => {});
    await reached.promise;
    const [claim] = await system.orderDb.OrderClaim.findAll({ raw: true });
    const end = async () => {
      abort.abort();
      await call.catch(() => {});
    };
    return { key, orderNo: claim!.order_no, end };
  }

  describe('order show', () => {
    const item = { product_id: 'string', quantity: 'string', unit_price_cents: 'string', title: 'string' };
    const event = {
      event_id: 'string',
      order_no: 'string',
      event_type: 'string',
      status: 'string',
      attempts: 'number',
      create_time: 'string',
      next_retry_time: 'string',
      lease_time: 'string',
      last_error: null,
    };

    it('shows all that is known of an order', async () => {
      const { orderNo, key } = await buy();
      const { status, stdout, stderr } = await ops('order', 'show', orderNo);
      assert.deepEqual([status, stderr], [0, '']);
      for (const part of [
        `order              ${orderNo}\n`,
        'status             WAIT_PAY\n',
        `client_request_id  ${key}\n`,
        'total              5.00\n',
        new RegExp(`^ +${tea} +2  2.50  Product ${tea}$`, 'm'),
        'stock     DEDUCTED\n',
        new RegExp(`^${orderNo}.ORDER_CREATED  WAIT +1`, 'm'),
        /no rule is broken\n$/,
      ])
        assert.ok(
          typeof part === 'string' ? stdout.includes(part) : part.test(stdout),
          `${String(part)} in\n${stdout}`,
        );
    });

    it('says the same to programs, in names that stay', async () => {
      const { orderNo, key } = await buy();
      const shown = json(await ops('order', 'show', orderNo, '--json'));
      assert.deepEqual(shapeOf(shown), {
        order_no: 'string',
        order: {
          order_no: 'string',
          user_id: 'string',
          client_request_id: 'string',
          status: 'string',
          total_amount_cents: 'string',
          create_time: 'string',
          pay_time: null,
          payment_no: null,
          cancel_time: null,
          cancelled_by: null,
          cancel_reason: null,
          items: [item],
        },
        claim: null,
        deduction: {
          state: 'string',
          create_time: 'string',
          update_time: 'string',
          records: [{ type: 'string', product_id: 'string', quantity: 'string', create_time: 'string' }],
        },
        events: [event],
        findings: [],
      });
      const order = shown['order'] as Record<string, unknown>;
      assert.deepEqual([order['client_request_id'], order['user_id'], order['total_amount_cents']], [key, '7', '500']);
    });

    it('says by whom it was paid or cancelled', async () => {
      const [paid, cancelled] = [(await buy()).orderNo, (await buy()).orderNo];
      await node.client.payOrder({ orderNo: paid, paymentNo: 'P-1', amountCents: 500n }, as(7));
      await node.client.cancelOrder({ orderNo: cancelled, reason: 'too late' }, as(7));
      const ofPaid = await ops('order', 'show', paid);
      assert.match(ofPaid.stdout, /\nstatus +PAID\n[^]*\npaid +20.* by P-1\n/);
      assert.match(ofPaid.stdout, /ORDER_PAID [^]*no rule is broken\n$/);
      const ofCancelled = await ops('order', 'show', cancelled);
      assert.match(ofCancelled.stdout, /\nstatus +CANCELLED\n[^]*\ncancelled +20.* by USER too late\n/);
      assert.match(ofCancelled.stdout, /STOCK_RESTORE +WAIT [^]*no rule is broken\n$/);
    });

    it('names the rule that the order breaks, with status 1', async () => {
      const { orderNo } = await buy();
      await system.orderDb.Order.update({ total_amount: '9.99' }, { where: { order_no: orderNo } });
      const { status, stdout } = await ops('order', 'show', orderNo);
      await system.orderDb.Order.update({ total_amount: '5.00' }, { where: { order_no: orderNo } });
      assert.equal(status, 1);
      assert.match(stdout, /BROKEN TOTAL_DIFFERS: .* 999 cents, its items come to 500\n$/);
    });

    it('says that there is no trace of a number, with status 1', async () => {
      const { status, stdout } = await ops('order', 'show', '123');
      assert.deepEqual([status, stdout], [1, 'there is no trace of 123\n']);
      const document = json(await ops('order', 'show', '123', '--json'));
      assert.deepEqual(document, {
        order_no: '123',
        order: null,
        claim: null,
        deduction: null,
        events: [],
        findings: [],
      });
    });
  });

  describe('intent show', () => {
    it('finds the order of a key', async () => {
      const { orderNo, key } = await buy();
      const { status, stdout } = await ops('intent', 'show', key);
      assert.equal(status, 0);
      assert.match(stdout, new RegExp(`^${key} is CREATED\n\norder +${orderNo}\n`));
      const document = json(await ops('intent', 'show', key, '--json'));
      assert.deepEqual(
        [document['client_request_id'], document['state'], document['order_no']],
        [key, 'CREATED', orderNo],
      );
    });

    it('finds the attempt that is at work, and the claim of one that died', async () => {
      const { key, orderNo, end } = await atWork();
      const working = await ops('intent', 'show', key);
      assert.match(working.stdout, new RegExp(`^${key} is IN_PROGRESS\n\nclaim +${orderNo}\n[^]*\nexpires +20`));
      await system.orderDb.OrderClaim.update({ expire_time: new Date(0) }, { where: { order_no: orderNo } });
      const dead = await ops('intent', 'show', key, '--json');
      assert.deepEqual([dead.status, json(dead)['state']], [0, 'EXPIRED']);
      await end();
    });

    it('says that a key is free, with status 1', async () => {
      const key = newKey();
      const { status, stdout } = await ops('intent', 'show', key);
      assert.deepEqual([status, stdout], [1, `${key} is NONE: no order and no claim has it\n`]);
      const document = json(await ops('intent', 'show', key, '--json'));
      assert.deepEqual(document, { client_request_id: key, state: 'NONE', order_no: null });
    });
  });

  describe('stock', () => {
    it('shows what can be sold', async () => {
      const cups = await product(system, 41n);
      const { status, stdout } = await ops('stock', 'show', String(cups), String(tea));
      assert.equal(status, 0);
      assert.match(
        stdout,
        new RegExp(`^product  available  price  title\n +${tea} +\\d+ +2.50  Product ${tea}\n +${cups} +41 `),
      );
      assert.deepEqual(json(await ops('stock', 'show', String(cups), '--json')), {
        products: [{ product_id: String(cups), title: `Product ${cups}`, unit_price_cents: '250', available: '41' }],
      });
    });

    it('says that there is no such product, with status 1', async () => {
      const { status, stdout, stderr } = await ops('stock', 'show', '987654321');
      assert.deepEqual([status, stdout], [1, '']);
      assert.match(stderr, /^ordersystem: stock-svc answered PRODUCT_NOT_FOUND: .*987654321/);
    });

    it('books goods in once for each receipt, and says what it does', async () => {
      const cups = await product(system, 1n);
      const receive = () => ops('stock', 'receive', 'GR-1', `${cups}=5`, '--yes');
      const first = await receive();
      assert.deepEqual([first.status, first.stdout], [0, 'receipt GR-1 is booked\n']);
      assert.equal(first.stderr, `5 more of ${cups}, of which there are 1: Product ${cups}\n`);
      assert.equal((await receive()).stdout, 'receipt GR-1 had been booked before: nothing more was added\n');
      const again = json(await ops('stock', 'receive', 'GR-1', `${cups}=5`, '--yes', '--json'));
      assert.deepEqual(again, { receipt_no: 'GR-1', replayed: true });
      const other = await ops('stock', 'receive', 'GR-1', `${cups}=6`, '--yes');
      assert.equal(other.status, 1);
      assert.match(other.stderr, /RECEIPT_NO_REUSED/);
      const { stocks } = await system.stock.getStock({ productIds: [cups] });
      assert.equal(stocks[0]!.available, 6n);
    });
  });

  describe('claims list', () => {
    it('lists what is at work', async () => {
      assert.equal((await ops('claims', 'list')).stdout, 'no claims\n');
      const { key, orderNo, end } = await atWork();
      const { status, stdout } = await ops('claims', 'list');
      assert.equal(status, 0);
      assert.match(stdout, new RegExp(`^order .*\n${orderNo}  7 +20.* ${key}\n$`));
      const { claims } = json(await ops('claims', 'list', '--json')) as { claims: unknown[] };
      assert.deepEqual(shapeOf(claims), [
        {
          order_no: 'string',
          client_request_id: 'string',
          user_id: 'string',
          expire_time: 'string',
          expired: 'boolean',
          items: [{ product_id: 'string', quantity: 'string' }],
        },
      ]);
      await end();
    });
  });

  it('shows no control characters that somebody has put into a text', async () => {
    const cups = await product(system, 1n);
    await system.stock.putProducts({ products: [{ productId: cups, title: 'Cups\x1b[2J\n', unitPriceCents: 1n }] });
    const { stdout } = await ops('stock', 'show', String(cups));
    assert.ok(stdout.endsWith(`Cups\ufffd[2J\ufffd\n`), JSON.stringify(stdout));
    await relay(system);
  });
});
