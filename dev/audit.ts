import type { OrderDb } from '../order-svc/db/models.ts';
import { select } from '../runtime/db/statements.ts';
import type { StockDb } from '../stock-svc/db/models.ts';

/** Order numbers that are held against each other at once: what bounds the memory. */
const PAGE = 10_000;
/** Broken rules that are named before the audit gives up. */
const ENOUGH = 100;

interface Header {
  order_no: string;
  state: string;
}
interface OrderRow {
  order_no: string;
  status: string;
  /** 1: its events may have been deleted. */
  old: number;
}
interface Line {
  order_no: string;
  product_id: string;
  quantity: string;
}

/** What order-svc keeps events for when EVENT_RETENTION_MS does not say otherwise. */
const WEEK_MS = 7 * 24 * 3_600_000;

/**
 * What holds always, over both databases. Returns every broken rule with the number that breaks it, or the first hundred.
 *
 * 1. Each product: received − Σ deducted + Σ restored = available ≥ 0.
 * 2. Each DEDUCTED header: an order that is not CANCELLED, or a claim, or a STOCK_RESTORE event that is not SENT.
 * 3. Each order: its items, and a header with the same items, DEDUCTED unless it is CANCELLED; one ORDER_CREATED event, one ORDER_PAID
 *    when it is PAID, one ORDER_CANCELLED when it is CANCELLED, and no other of these. An order older than
 *    `retentionMs` may have none.
 * 4. No key has two orders. No number has an order and a claim.
 */
export async function findBrokenRules(orderDb: OrderDb, stockDb: StockDb, retentionMs = WEEK_MS): Promise<string[]> {
  const broken = [...(await brokenProducts(stockDb)), ...(await brokenKeys(orderDb))];
  let from = '';
  while (broken.length < ENOUGH) {
    const to = await endOfPage(orderDb, stockDb, from);
    if (to === undefined) break;
    broken.push(...(await brokenNumbers(orderDb, stockDb, from, to, retentionMs)));
    from = to;
  }
  return broken.slice(0, ENOUGH);
}

async function brokenProducts({ sequelize }: StockDb): Promise<string[]> {
  const rows = await select<{ product_id: string; available: string; ledger: string | null }>(
    sequelize,
    `SELECT s.product_id, s.available, r.ledger FROM t_stock s LEFT JOIN (
        SELECT product_id, SUM(IF(type = 'DEDUCT', -quantity, quantity)) AS ledger FROM t_stock_record GROUP BY product_id
      ) r ON r.product_id = s.product_id`,
    [],
  );
  return rows
    .filter((row) => BigInt(row.available) < 0n || BigInt(row.available) !== BigInt(row.ledger ?? 0))
    .map((row) => `product ${row.product_id}: available ${row.available}, ledger ${row.ledger}`);
}

async function brokenKeys({ sequelize }: OrderDb): Promise<string[]> {
  const keys = await select<{ client_request_id: Buffer }>(
    sequelize,
    `SELECT client_request_id FROM t_order WHERE client_request_id IS NOT NULL
      GROUP BY client_request_id HAVING COUNT(*) > 1 LIMIT ?`,
    [ENOUGH],
  );
  const both = await select<{ order_no: string }>(
    sequelize,
    'SELECT c.order_no FROM t_order_claim c JOIN t_order o ON o.order_no = c.order_no LIMIT ?',
    [ENOUGH],
  );
  return [
    ...keys.map((row) => `key ${row.client_request_id.toString()} has more than one order`),
    ...both.map((row) => `${row.order_no} is both a claim and an order`),
  ];
}

/** The last number of the page that begins after `from`; undefined when there is none. */
async function endOfPage(orderDb: OrderDb, stockDb: StockDb, from: string): Promise<string | undefined> {
  const page = (table: string) =>
    `SELECT MAX(order_no) AS last FROM (SELECT order_no FROM ${table} WHERE order_no > ? ORDER BY order_no LIMIT ?) page`;
  const [headers] = await select<{ last: string | null }>(stockDb.sequelize, page('t_stock_deduction'), [from, PAGE]);
  const [orders] = await select<{ last: string | null }>(orderDb.sequelize, page('t_order'), [from, PAGE]);
  const ends = [headers?.last, orders?.last].filter((last) => typeof last === 'string').toSorted();
  return ends[0];
}

async function brokenNumbers(
  orderDb: OrderDb,
  stockDb: StockDb,
  from: string,
  to: string,
  retentionMs: number,
): Promise<string[]> {
  const range = [from, to];
  const [headers, taken, orders, bought, pending, reported] = await Promise.all([
    select<Header>(stockDb.sequelize, `SELECT order_no, state FROM t_stock_deduction ${IN_RANGE}`, range),
    select<Line>(stockDb.sequelize, `${lines('t_stock_record')} AND type = 'DEDUCT' ${BY_PRODUCT}`, range),
    select<OrderRow>(
      orderDb.sequelize,
      `SELECT order_no, status, create_time < UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND AS old FROM t_order ${IN_RANGE}`,
      [retentionMs * 1000, ...range],
    ),
    select<Line>(orderDb.sequelize, `${lines('t_order_item')} ${BY_PRODUCT}`, range),
    select<{ order_no: string }>(
      orderDb.sequelize,
      `SELECT order_no FROM t_order_claim ${IN_RANGE} UNION
        SELECT order_no FROM t_event_record ${IN_RANGE} AND event_type = 'STOCK_RESTORE' AND status <> 'SENT'`,
      [...range, ...range],
    ),
    select<{ order_no: string; event_type: string }>(
      orderDb.sequelize,
      `SELECT order_no, event_type FROM t_event_record ${IN_RANGE}
        AND event_type IN ('ORDER_CREATED', 'ORDER_PAID', 'ORDER_CANCELLED')`,
      range,
    ),
  ]);
  const broken: string[] = [];
  const states = new Map(headers.map((header) => [header.order_no, header.state]));
  const statuses = new Map(orders.map((order) => [order.order_no, order.status]));
  const old = new Set(orders.filter((order) => Number(order.old) === 1).map((order) => order.order_no));
  const waiting = new Set(pending.map((row) => row.order_no));
  const events = Map.groupBy(reported, (row) => row.order_no);
  const [takenOf, boughtOf] = [byOrder(taken), byOrder(bought)];

  for (const [orderNo, state] of states) {
    if (state !== 'DEDUCTED' || waiting.has(orderNo)) continue;
    const status = statuses.get(orderNo);
    if (status === undefined || status === 'CANCELLED') broken.push(`stock of ${orderNo} was taken for nothing`);
  }
  for (const [orderNo, status] of statuses) {
    const [took, buys] = [takenOf.get(orderNo), boughtOf.get(orderNo)];
    if (buys === undefined) broken.push(`order ${orderNo} has no items`);
    if (took !== buys) broken.push(`order ${orderNo} bought ${buys}, took ${took}`);
    const state = states.get(orderNo);
    if (status !== 'CANCELLED' && state !== 'DEDUCTED')
      broken.push(`order ${orderNo} is ${status}, its stock ${state}`);
    const due = status === 'WAIT_PAY' ? 'ORDER_CREATED' : ['ORDER_CREATED', `ORDER_${status}`].toSorted().join();
    const found = (events.get(orderNo) ?? [])
      .map((row) => row.event_type)
      .toSorted()
      .join();
    if (found !== due && !old.has(orderNo)) broken.push(`order ${orderNo} is ${status}, its events ${found}`);
  }
  return broken;
}

const IN_RANGE = 'WHERE order_no > ? AND order_no <= ?';
const BY_PRODUCT = 'GROUP BY order_no, product_id ORDER BY order_no, product_id';

function lines(table: string): string {
  return `SELECT order_no, product_id, SUM(quantity) AS quantity FROM ${table} ${IN_RANGE}`;
}

/** What each order has of each product, as text that can be compared. */
function byOrder(rows: readonly Line[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const { order_no: orderNo, product_id: productId, quantity } of rows) {
    const before = texts.get(orderNo);
    const text = `${productId}×${quantity}`;
    texts.set(orderNo, before === undefined ? text : `${before}, ${text}`);
  }
  return texts;
}
