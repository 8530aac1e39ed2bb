import assert from 'node:assert/strict';
import { findBrokenRules } from '../../../ops/audit/audit.ts';
import type { Finding, Rule } from '../../../ops/audit/findings.ts';
import { as, newKey, product, startSystem, type System } from '../../support/system.ts';

/** How a rule is broken by hand, and mended again. `$no` is the number of an order of two products, `$id` the first of them. */
interface Case {
  readonly rule: Rule;
  readonly how: string;
  readonly break: readonly string[];
  readonly mend: readonly string[];
  /** By default it is the order that is named. */
  readonly names?: (order: { orderNo: string; productId: bigint; key: string }) => Partial<Finding>;
  readonly repair?: Finding['repair'];
}

const told = (eventType: string, status = 'WAIT') =>
  `order: INSERT INTO t_event_record (event_id, order_no, event_type, payload, status)
    VALUES (CONCAT($no, '.${eventType}'), $no, '${eventType}', '{}', '${status}')`;
const notTold = (eventType: string) =>
  `order: DELETE FROM t_event_record WHERE order_no = $no AND event_type = '${eventType}'`;
const cancelled = ["order: UPDATE t_order SET status = 'CANCELLED' WHERE order_no = $no", told('ORDER_CANCELLED')];
const waits = "order: UPDATE t_order SET status = 'WAIT_PAY', payment_no = NULL WHERE order_no = $no";
const notCancelled = [waits, notTold('ORDER_CANCELLED')];
const paid = (cents: number) => [
  "order: UPDATE t_order SET status = 'PAID', payment_no = 'P-1' WHERE order_no = $no",
  `order: INSERT INTO t_payment (payment_no, order_no, amount_cents) VALUES ('P-1', $no, ${cents})`,
];
const notPaid = [waits, "order: DELETE FROM t_payment WHERE payment_no = 'P-1'"];
const givenBack = [
  "stock: UPDATE t_stock_deduction SET state = 'RESTORED' WHERE order_no = $no",
  `stock: INSERT INTO t_stock_record (order_no, type, product_id, quantity)
    SELECT order_no, 'RESTORE', product_id, quantity FROM t_stock_record WHERE order_no = $no`,
  `stock: UPDATE t_stock s JOIN t_stock_record r ON r.product_id = s.product_id AND r.order_no = $no AND r.type = 'RESTORE'
    SET s.available = s.available + r.quantity`,
];
const takenAgain = [
  `stock: UPDATE t_stock s JOIN t_stock_record r ON r.product_id = s.product_id AND r.order_no = $no AND r.type = 'RESTORE'
    SET s.available = s.available - r.quantity`,
  "stock: DELETE FROM t_stock_record WHERE order_no = $no AND type = 'RESTORE'",
  "stock: UPDATE t_stock_deduction SET state = 'DEDUCTED' WHERE order_no = $no",
];

const cases: Case[] = [
  {
    rule: 'LEDGER_SUM',
    how: 'a piece gets lost',
    break: ['stock: UPDATE t_stock SET available = available - 1 WHERE product_id = $id'],
    mend: ['stock: UPDATE t_stock SET available = available + 1 WHERE product_id = $id'],
    names: ({ productId }) => ({ productId: String(productId) }),
  },
  {
    rule: 'LEDGER_SUM',
    how: 'the ledger knows a product that is not there',
    break: ["stock: INSERT INTO t_stock_record VALUES ('r', 'RECEIVE', 999999, 1, NULL, NULL, NOW())"],
    mend: ['stock: DELETE FROM t_stock_record WHERE product_id = 999999'],
    names: () => ({ productId: '999999' }),
  },
  {
    rule: 'LEDGER_HEADER',
    how: 'a header is closed, and the ledger gives nothing back',
    // Its order is CANCELLED and out of the way.
    break: [...cancelled, "stock: UPDATE t_stock_deduction SET state = 'RESTORED' WHERE order_no = $no"],
    mend: [...notCancelled, "stock: UPDATE t_stock_deduction SET state = 'DEDUCTED' WHERE order_no = $no"],
  },
  {
    rule: 'LEDGER_HEADER',
    how: 'a header is gone',
    break: ["stock: UPDATE t_stock_deduction SET order_no = CONCAT('~', $no), state = 'RESTORED' WHERE order_no = $no"],
    mend: ["stock: UPDATE t_stock_deduction SET order_no = $no, state = 'DEDUCTED' WHERE order_no = CONCAT('~', $no)"],
  },
  {
    rule: 'KEY_TWICE',
    how: 'two orders share a key, the unique key being gone',
    break: [
      'order: ALTER TABLE t_order DROP KEY uk_client_request_id',
      'order: UPDATE t_order SET client_request_id = $key WHERE order_no <> $no LIMIT 1',
    ],
    mend: [
      'order: UPDATE t_order SET client_request_id = NULL WHERE order_no <> $no',
      'order: ALTER TABLE t_order ADD UNIQUE KEY uk_client_request_id (client_request_id)',
    ],
    names: ({ key }) => ({ clientRequestId: key }),
  },
  {
    rule: 'CLAIM_AND_ORDER',
    how: 'an order has a claim as well',
    break: [
      `order: INSERT INTO t_order_claim (order_no, user_id, fingerprint, items, expire_time)
        SELECT order_no, user_id, fingerprint, '[]', NOW() FROM t_order WHERE order_no = $no`,
    ],
    mend: ['order: DELETE FROM t_order_claim WHERE order_no = $no'],
  },
  {
    rule: 'STOCK_TAKEN_FOR_NOTHING',
    how: 'an attempt has left nothing but its deduction',
    break: [
      "stock: INSERT INTO t_stock_deduction (order_no, state) VALUES ('stray', 'DEDUCTED')",
      "stock: INSERT INTO t_stock_record (order_no, type, product_id, quantity) VALUES ('stray', 'DEDUCT', $id, 1)",
      'stock: UPDATE t_stock SET available = available - 1 WHERE product_id = $id',
    ],
    mend: [
      "stock: DELETE FROM t_stock_deduction WHERE order_no = 'stray'",
      "stock: DELETE FROM t_stock_record WHERE order_no = 'stray'",
      'stock: UPDATE t_stock SET available = available + 1 WHERE product_id = $id',
    ],
    names: () => ({ orderNo: 'stray' }),
    repair: 'STAGE_RESTORE',
  },
  {
    rule: 'STOCK_TAKEN_FOR_NOTHING',
    how: 'the order is CANCELLED and nothing gives its stock back',
    break: cancelled,
    mend: notCancelled,
    repair: 'STAGE_RESTORE',
  },
  {
    rule: 'STOCK_TAKEN_FOR_NOTHING',
    how: 'the order is CANCELLED and its STOCK_RESTORE event is SENT, though nothing was given back',
    break: [...cancelled, told('STOCK_RESTORE', 'SENT')],
    mend: [...notCancelled, notTold('STOCK_RESTORE')],
    repair: 'STAGE_RESTORE',
  },
  {
    rule: 'STOCK_NOT_TAKEN',
    how: 'an order has neither header nor ledger',
    break: [
      "stock: UPDATE t_stock_deduction SET order_no = CONCAT('~', $no), state = 'RESTORED' WHERE order_no = $no",
      "stock: UPDATE t_stock_record SET order_no = CONCAT('~', $no), type = 'RECEIVE' WHERE order_no = $no",
      "stock: UPDATE t_stock s JOIN t_stock_record r USING (product_id) SET available = available + 2 * quantity WHERE r.order_no = CONCAT('~', $no)",
    ],
    mend: [
      "stock: UPDATE t_stock s JOIN t_stock_record r USING (product_id) SET available = available - 2 * quantity WHERE r.order_no = CONCAT('~', $no)",
      "stock: UPDATE t_stock_record SET order_no = $no, type = 'DEDUCT' WHERE order_no = CONCAT('~', $no)",
      "stock: UPDATE t_stock_deduction SET order_no = $no, state = 'DEDUCTED' WHERE order_no = CONCAT('~', $no)",
    ],
  },
  {
    rule: 'STOCK_GIVEN_BACK',
    how: 'the stock of a living order was given back',
    break: givenBack,
    mend: takenAgain,
  },
  {
    rule: 'STOCK_GIVEN_BACK',
    how: 'an event is about to give the stock of a living order back',
    break: [told('STOCK_RESTORE')],
    mend: [notTold('STOCK_RESTORE')],
  },
  {
    rule: 'ORDER_WITHOUT_ITEMS',
    how: 'the items are gone',
    break: ["order: UPDATE t_order_item SET order_no = CONCAT('x', $no) WHERE order_no = $no"],
    mend: ["order: UPDATE t_order_item SET order_no = $no WHERE order_no = CONCAT('x', $no)"],
  },
  {
    rule: 'ITEMS_DIFFER',
    how: 'a line has another product of the same price',
    break: ['order: UPDATE t_order_item SET product_id = product_id + 7 WHERE order_no = $no AND line_no = 1'],
    mend: ['order: UPDATE t_order_item SET product_id = product_id - 7 WHERE order_no = $no AND line_no = 1'],
  },
  {
    rule: 'TOTAL_DIFFERS',
    how: 'the total is a cent off',
    break: ['order: UPDATE t_order SET total_amount = total_amount + 0.01 WHERE order_no = $no'],
    mend: ['order: UPDATE t_order SET total_amount = total_amount - 0.01 WHERE order_no = $no'],
  },
  {
    rule: 'EVENT_COUNT',
    how: 'nobody is told of the order',
    break: ["order: UPDATE t_event_record SET event_type = 'OTHER' WHERE order_no = $no"],
    mend: ["order: UPDATE t_event_record SET event_type = 'ORDER_CREATED' WHERE order_no = $no"],
  },
  {
    rule: 'EVENT_COUNT',
    how: 'it is told twice',
    break: [
      `order: INSERT INTO t_event_record (event_id, order_no, event_type, payload) VALUES ('again', $no, 'ORDER_CREATED', '{}')`,
    ],
    mend: ["order: DELETE FROM t_event_record WHERE event_id = 'again'"],
  },
  {
    rule: 'EVENT_COUNT',
    how: 'a PAID order is not told to be paid',
    break: paid(1500),
    mend: notPaid,
  },
  {
    rule: 'PAYMENT_MISSING',
    how: 'a PAID order has a payment of another amount',
    break: [...paid(1499), told('ORDER_PAID')],
    mend: [...notPaid, notTold('ORDER_PAID')],
  },
  {
    rule: 'PAYMENT_MISSING',
    how: 'a PAID order has no payment at all',
    break: ["order: UPDATE t_order SET status = 'PAID' WHERE order_no = $no", told('ORDER_PAID')],
    mend: [...notPaid, notTold('ORDER_PAID')],
  },
  {
    rule: 'EVENT_COUNT',
    how: 'an unpaid order is told to be paid',
    break: [told('ORDER_PAID')],
    mend: [notTold('ORDER_PAID')],
  },
];

describe('the audit', () => {
  let system: System;
  const order = { orderNo: '', productId: 0n, key: newKey() };

  before(async () => {
    system = await startSystem();
    const node = await system.orderNode();
    const [first, second] = [await product(system, 100n), await product(system, 100n)];
    const buy = async (clientRequestId: string) => {
      const items = [first, second, first].map((productId) => ({ productId, quantity: 2n }));
      return (await node.client.createOrder({ clientRequestId, items }, as(1))).order!.orderNo;
    };
    for (let i = 0; i < 5; i++) await buy(newKey());
    Object.assign(order, { orderNo: await buy(order.key), productId: first });
    await buy(newKey());
  });
  after(() => system.stop());

  const databases = () => ({ order: system.orderDb.sequelize, stock: system.stockDb.sequelize });

  async function run(statements: readonly string[]): Promise<void> {
    for (const statement of statements) {
      const [, side, sql] = /^(order|stock): ([^]*)$/.exec(statement)!;
      const filled = sql!
        .replaceAll('$no', `'${order.orderNo}'`)
        .replaceAll('$id', String(order.productId))
        .replaceAll('$key', `'${order.key}'`);
      await databases()[side as 'order' | 'stock'].query(filled);
    }
  }

  it('finds nothing where nothing is wrong', async () => {
    assert.deepEqual(await findBrokenRules(databases()), []);
  });

  for (const one of cases) {
    it(`finds ${one.rule} and nothing else when ${one.how}`, async () => {
      await run(one.break);
      const found = await findBrokenRules(databases());
      await run(one.mend);
      const names = one.names?.(order) ?? { orderNo: order.orderNo };
      assert.deepEqual(found, [
        { rule: one.rule, ...names, ...(one.repair && { repair: one.repair }), message: found[0]?.message },
      ]);
      assert.ok(
        Object.values(names).every((name) => found[0]!.message.includes(String(name))),
        found[0]!.message,
      );
      assert.deepEqual(await findBrokenRules(databases()), [], 'it was mended');
    });
  }

  it('does not miss the events of an order that is older than they are kept', async () => {
    const [gone] = cases.filter((one) => one.how === 'nobody is told of the order');
    await run(gone!.break);
    await run(['order: UPDATE t_order SET create_time = create_time - INTERVAL 2 HOUR WHERE order_no = $no']);
    const [kept, deleted] = [3 * 3_600_000, 3_600_000];
    assert.equal((await findBrokenRules(databases(), { retentionMs: kept })).length, 1);
    assert.deepEqual(await findBrokenRules(databases(), { retentionMs: deleted }), []);
    await run(gone!.mend);
  });

  it('ends after so many findings', async () => {
    const all = 'order: UPDATE t_order SET total_amount = total_amount';
    await run([`${all} + 1`]);
    assert.equal((await findBrokenRules(databases(), { limit: 3 })).length, 3);
    assert.equal((await findBrokenRules(databases())).length, 7);
    await run([`${all} - 1`]);
  });

  it('looks only at the numbers after the one that it is given', async () => {
    await run([cases.find((one) => one.rule === 'TOTAL_DIFFERS')!.break[0]!]);
    const before = String(BigInt(order.orderNo) - 1n);
    assert.equal((await findBrokenRules(databases(), { from: before })).length, 1);
    assert.deepEqual(await findBrokenRules(databases(), { from: order.orderNo }), []);
    await run([cases.find((one) => one.rule === 'TOTAL_DIFFERS')!.mend[0]!]);
  });
});
