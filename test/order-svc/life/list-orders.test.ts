import assert from 'node:assert/strict';
import type { ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { type Order, OrderStatus } from '../../../gen/ordersystem/order/v1/order_pb.ts';
import { fingerprintOf } from '../../../runtime/fingerprint.ts';
import { failsWith } from '../../support/expect.ts';
import { as, newKey, type OrderNode, product, useSystem } from '../../support/system.ts';
import { holdNextOrder } from '../held-order.ts';
import { cancel, newPaymentNo, order, pay, useParties } from './life.ts';

describe('ListOrders', () => {
  const system = useSystem();
  const parties = useParties(system);
  let node: OrderNode;
  /** Each test has a user of its own. */
  let user = 1000;

  before(() => (node = parties.a.node));
  beforeEach(() => void user++);

  interface Page {
    status?: OrderStatus;
    pageSize?: number;
    pageToken?: string;
  }
  const list = (page: Page = {}, userId = user) => node.client.listOrders(page, as(userId));
  const numbersOf = (orders: readonly Order[]) => orders.map((one) => one.orderNo);

  /** So many orders, one after the other, newest first. */
  async function buy(count: number): Promise<string[]> {
    const numbers: string[] = [];
    for (let i = 0; i < count; i++) numbers.unshift(await order(system, node, user));
    return numbers;
  }

  /** All pages from a token on. `between` happens before each. */
  async function walk(page: Page, between: () => Promise<unknown> = () => Promise.resolve()): Promise<string[][]> {
    const pages: string[][] = [];
    for (let pageToken = page.pageToken ?? ''; pageToken !== '' || pages.length === 0;) {
      const { orders, nextPageToken } = await list({ ...page, pageToken });
      pages.push(numbersOf(orders));
      pageToken = nextPageToken;
      if (pageToken !== '') await between();
    }
    return pages;
  }

  it('has the user’s orders whole, newest first, and nobody else’s', async () => {
    const foreign = await order(system, node, user + 1);
    const numbers = await buy(3);
    const { orders, nextPageToken } = await list();
    assert.deepEqual(numbersOf(orders), numbers);
    assert.equal(nextPageToken, '');
    for (const one of orders) {
      assert.deepEqual(one, (await node.client.getOrder({ orderNo: one.orderNo }, as(user))).order);
    }
    user++;
    assert.deepEqual(numbersOf((await list()).orders), [foreign]);
  });

  it('is empty for a user who has none, with no token', async () => {
    const { orders, nextPageToken } = await list();
    assert.deepEqual([orders, nextPageToken], [[], '']);
  });

  it('comes in pages that join without a gap, the last of which has no token', async () => {
    const numbers = await buy(5);
    for (const [pageSize, sizes] of [
      [1, [1, 1, 1, 1, 1]],
      [2, [2, 2, 1]],
      [5, [5]],
      [6, [5]],
    ] as const) {
      const pages = await walk({ pageSize });
      assert.deepEqual(pages.flat(), numbers);
      assert.deepEqual(
        pages.map((page) => page.length),
        sizes,
      );
    }
  });

  it('has 20 on a page when nothing is said, and never more than 100', async () => {
    await Promise.all(Array.from({ length: 102 }, () => order(system, node, user)));
    assert.equal((await list()).orders.length, 20);
    assert.equal((await list({ pageSize: 99 })).orders.length, 99);
    for (const pageSize of [100, 101, 2 ** 31 - 1]) {
      const pages = await walk({ pageSize });
      assert.deepEqual(
        pages.map((page) => page.length),
        [100, 2],
      );
      assert.equal(new Set(pages.flat()).size, 102);
    }
  });

  it('does not skip and does not repeat while orders arrive', async () => {
    const numbers = await buy(4);
    const pages = await walk({ pageSize: 1 }, () => order(system, node, user));
    assert.deepEqual(pages.flat(), numbers);
  });

  it('does not skip and does not repeat when one arrives that was begun before the first page was read', async () => {
    const late = parties.b.node;
    const [oldest] = await buy(1);
    // Its row is there, with a number and an id below those that follow, and nobody sees it yet.
    const held = holdNextOrder(system, late);
    const items = [{ productId: await product(system, 2n), quantity: 1n }];
    const call = late.client.createOrder({ clientRequestId: newKey(), items }, as(user));
    await held.reached;
    const [newest] = await buy(1);
    const first = await list({ pageSize: 1 });
    assert.deepEqual(numbersOf(first.orders), [newest]);
    await held.release();
    const begun = (await call).order!.orderNo;
    assert.deepEqual((await walk({ pageSize: 1, pageToken: first.nextPageToken })).flat(), [begun, oldest]);
  });

  it('can be of one status, whose pages go on as orders leave it and come to it', async () => {
    const numbers = await buy(6);
    const [, second, , fourth] = numbers as [string, string, string, string];
    await pay(node, second, newPaymentNo(), undefined, user);
    await cancel(node, fourth, '', user);
    const of = (status: OrderStatus) => walk({ status, pageSize: 2 });
    assert.deepEqual((await of(OrderStatus.PAID)).flat(), [second]);
    assert.deepEqual((await of(OrderStatus.CANCELLED)).flat(), [fourth]);
    const waiting = numbers.filter((one) => one !== second && one !== fourth);
    assert.deepEqual((await of(OrderStatus.WAIT_PAY)).flat(), waiting);
    assert.deepEqual((await of(OrderStatus.UNSPECIFIED)).flat(), numbers);

    const first = await list({ status: OrderStatus.WAIT_PAY, pageSize: 2 });
    assert.deepEqual(numbersOf(first.orders), waiting.slice(0, 2));
    // The page's last order, by which the next begins, is no longer of this status; nor is one that was to come.
    await cancel(node, waiting[1]!, '', user);
    await cancel(node, waiting[2]!, '', user);
    const rest = await walk({ status: OrderStatus.WAIT_PAY, pageSize: 2, pageToken: first.nextPageToken });
    assert.deepEqual(rest.flat(), waiting.slice(3));
  });

  describe('refuses a page token that', () => {
    let token: string;
    beforeEach(async () => {
      await buy(2);
      token = (await list({ pageSize: 1 })).nextPageToken;
    });

    const swap = (text: string, i: number) => text.slice(0, i) + (text[i] === 'A' ? 'B' : 'A') + text.slice(i + 1);
    const forged = (orderNo: string) => {
      const checksum = fingerprintOf([[BigInt(user), undefined, orderNo]]).toString('hex', 0, 8);
      return Buffer.from(`${orderNo}.${checksum}`).toString('base64url');
    };
    const cases: Record<string, () => Promise<unknown>> = {
      'is another user’s': () => list({ pageToken: token }, user + 1),
      'is of another status': () => list({ pageToken: token, status: OrderStatus.PAID }),
      'is changed at its begin': () => list({ pageToken: swap(token, 1) }),
      'is changed at its end': () => list({ pageToken: swap(token, token.length - 1) }),
      'is cut short': () => list({ pageToken: token.slice(0, -1) }),
      'has more to it': () => list({ pageToken: `${token}=` }),
      'is no token at all': () => list({ pageToken: "1' OR '1'='1" }),
      'is made up with another user’s order': async () =>
        list({ pageToken: forged(await order(system, node, user + 1)) }),
      'is made up with no order': () => list({ pageToken: forged('1') }),
    };
    for (const [what, call] of Object.entries(cases)) {
      it(what, async () => {
        const error: ConnectError = await failsWith(call(), 'INVALID_REQUEST');
        const fields = error
          .findDetails(BadRequestSchema)
          .flatMap((bad) => bad.fieldViolations.map((one) => one.field));
        assert.deepEqual(fields, ['page_token']);
      });
    }

    it('and takes the right one, with another page size too', async () => {
      assert.equal((await list({ pageToken: token, pageSize: 7 })).orders.length, 1);
      const own = (await list({ pageSize: 1 })).orders[0]!.orderNo;
      assert.equal(forged(own), token, 'the cases above forge what would be taken');
    });
  });

  it('with a wrong status or size is INVALID_REQUEST, and names both', async () => {
    const error = await failsWith(list({ status: 99 as OrderStatus, pageSize: -1 }), 'INVALID_REQUEST');
    const fields = error.findDetails(BadRequestSchema).flatMap((bad) => bad.fieldViolations.map((one) => one.field));
    assert.deepEqual(fields, ['status', 'page_size']);
  });
});
