import { pino } from 'pino';
import { type OrderDb, openOrderDb } from '../../../order-svc/db/models.ts';
import { expireOnce } from '../../../order-svc/life/expiry.ts';
import { select } from '../../../runtime/db/statements.ts';
import { reasonOf } from '../../../runtime/rpc/errors.ts';
import { as, newKey, type OrderNode, product, type System } from '../../support/system.ts';

/** What each order of `order` costs, in cents. */
export const TOTAL = 500n;
export const WINDOW_MS = 1_800_000;

/** An order of two pieces, not paid. */
export async function order(system: System, node: OrderNode, user = 1): Promise<string> {
  const items = [{ productId: await product(system, 2n), quantity: 2n }];
  return (await node.client.createOrder({ clientRequestId: newKey(), items }, as(user))).order!.orderNo;
}

let lastPayment = 0;

export function newPaymentNo(): string {
  return `payment-${++lastPayment}`;
}

export function pay(node: OrderNode, orderNo: string, paymentNo: string, amountCents = TOTAL, user = 1) {
  return node.client.payOrder({ orderNo, paymentNo, amountCents }, as(user));
}

export function cancel(node: OrderNode, orderNo: string, reason = '', user = 1) {
  return node.client.cancelOrder({ orderNo, reason }, as(user));
}

/** These orders are older than the pay window. */
export async function age({ orderDb }: System, ...orderNos: string[]): Promise<void> {
  const create_time = new Date(Date.now() - WINDOW_MS - 60_000);
  await orderDb.Order.update({ create_time }, { where: { order_no: orderNos } });
}

/** One pass of the expiry: `done`, `nothing`, or `failed`, as its log has it; and whether there may be more. */
export async function expire(db: OrderDb): Promise<{ told: 'done' | 'nothing' | 'failed'; more: boolean }> {
  const levels: number[] = [];
  const logger = pino({}, { write: (line: string) => void levels.push((JSON.parse(line) as { level: number }).level) });
  const more = await expireOnce(db, WINDOW_MS, logger);
  return { told: levels.length === 0 ? 'nothing' : levels.every((level) => level === 30) ? 'done' : 'failed', more };
}

/** `WAIT_PAY`, `PAID by payment-1`, `CANCELLED by USER`, as the database has it. */
export async function stateOf({ orderDb }: System, orderNo: string): Promise<string> {
  const row = await orderDb.Order.findOne({ where: { order_no: orderNo }, raw: true, rejectOnEmpty: true });
  const by = row.payment_no ?? row.cancelled_by;
  return by ? `${row.status} by ${by.replace(`-${orderNo}`, '')}` : row.status;
}

/** The events of an order, by their ids without its number. */
export async function eventsOf({ orderDb }: System, orderNo: string): Promise<string[]> {
  const rows = await orderDb.EventRecord.findAll({ where: { order_no: orderNo }, raw: true });
  return rows.map((row) => row.event_id.replace(`${orderNo}.`, '').replace(`-${orderNo}`, '')).sort();
}

/** Whether a statement waits for a row that another transaction has locked. */
export async function someoneWaits({ orderDb }: System): Promise<boolean> {
  const sql = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'";
  const [row] = await select<{ Value: string }>(orderDb.sequelize, sql, []);
  return Number(row!.Value) > 0;
}

/** What a caller was told: `done`, `replayed`, or the reason of the error. */
export async function told(call: Promise<{ replayed: boolean }>): Promise<string> {
  return call.then(
    ({ replayed }) => (replayed ? 'replayed' : 'done'),
    (error: unknown) => reasonOf(error) ?? String(error),
  );
}

/** Somebody who settles orders, with a proxy between him and the database. */
export interface Party {
  readonly node: OrderNode;
  /** Through the same proxy as the node. */
  readonly db: OrderDb;
}

/** Parties for the suite that calls this. */
export function useParties(system: System): { a: Party; b: Party } {
  const parties = {} as { a: Party; b: Party };
  before(async () => {
    for (const name of ['a', 'b'] as const) {
      const node = await system.orderNode();
      parties[name] = { node, db: openOrderDb({ url: node.sql.url }) };
    }
  });
  after(async () => {
    for (const { db } of [parties.a, parties.b]) await db.sequelize.close();
  });
  return parties;
}

/** One way to settle an order. */
export interface Move {
  readonly name: string;
  /** The statement that decides. */
  readonly decides: RegExp;
  /** All statements of its transaction but COMMIT. */
  readonly statements: readonly RegExp[];
  /** The state that it leaves when it wins. */
  readonly state: string;
  /** The events that it leaves when it wins, besides ORDER_CREATED. */
  readonly events: readonly string[];
  /** Makes it, once. Returns what was told. */
  run(party: Party, orderNo: string): Promise<string>;
  /** When another has won: what is told, and the events that it leaves. */
  loses(to: Move): readonly [string, ...string[]];
}

const EVENTS = /INSERT INTO t_event_record/;

function payment(paymentNo: string): Move {
  return {
    name: `pay ${paymentNo}`,
    decides: /UPDATE t_order SET status = 'PAID'/,
    statements: [/UPDATE t_order SET status = 'PAID'/, /INSERT INTO t_payment/, EVENTS],
    state: `PAID by ${paymentNo}`,
    events: ['ORDER_PAID'],
    // A payment_no serves one order: each order of the tests has its own P and Q.
    run: ({ node }, orderNo) => told(pay(node, orderNo, `${paymentNo}-${orderNo}`)),
    loses: (to) => {
      if (to.state === `PAID by ${paymentNo}`) return ['replayed'];
      const reason = to.state.startsWith('PAID') ? 'ORDER_ALREADY_PAID' : 'ORDER_NOT_PAYABLE';
      return [reason, `ORDER_PAYMENT_REFUSED.${paymentNo}`];
    },
  };
}

export const payP = payment('P');
export const payQ = payment('Q');

export const cancelling: Move = {
  name: 'cancel',
  decides: /UPDATE t_order FORCE INDEX .*cancelled_by = 'USER'/s,
  statements: [/UPDATE t_order FORCE INDEX .*cancelled_by = 'USER'/s, EVENTS],
  state: 'CANCELLED by USER',
  events: ['ORDER_CANCELLED', 'STOCK_RESTORE'],
  run: ({ node }, orderNo) => told(cancel(node, orderNo)),
  loses: (to) => [to.state.startsWith('PAID') ? 'ORDER_NOT_CANCELLABLE' : 'replayed'],
};

export const expiring: Move = {
  name: 'expiry',
  decides: /FOR UPDATE SKIP LOCKED/,
  // The last two go out together.
  statements: [/FOR UPDATE SKIP LOCKED/, /UPDATE t_order FORCE INDEX .*cancelled_by = 'EXPIRY'/s],
  state: 'CANCELLED by EXPIRY',
  events: ['ORDER_CANCELLED', 'STOCK_RESTORE'],
  run: async ({ db }) => (await expire(db)).told,
  loses: () => ['nothing'],
};
