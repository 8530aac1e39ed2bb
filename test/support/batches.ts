import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import { reasonOf } from '../../runtime/rpc/errors.ts';
import { as, availableOf, movementsOf, newKey, type OrderNode, product, type System, useSystem } from './system.ts';

/** Statements for more than one order: a batch was really sent. */
export const CLAIMS = /INSERT INTO t_order_claim .*MICROSECOND\),\s*\(/s;
export const PERSISTS = /DELETE FROM t_order_claim WHERE order_no IN \('\d+',/;
export const DEDUCTS = /INSERT INTO t_stock_deduction [^(]*\([^)]*\)\s+VALUES \([^)]*\),\s*\(/;

/** The same, with this one among them. */
export function claimsWith({ key }: Wish): RegExp {
  return new RegExp(`INSERT INTO t_order_claim (?=.*${bytes(key)}).*MICROSECOND\\),\\s*\\(`, 's');
}
export function persistsWith({ key }: Wish): RegExp {
  return new RegExp(`DELETE FROM t_order_claim WHERE order_no IN \\('\\d+',.*${bytes(key)}`, 's');
}
const bytes = (key: string) => `X'${Buffer.from(key).toString('hex')}'`;

/** What one of many requests asks for. */
export interface Wish {
  readonly key: string;
  readonly productId: bigint;
  readonly quantity: bigint;
  readonly unitPriceCents?: bigint;
  /** Has little time. */
  readonly hurried?: boolean;
}

/** So many wishes for one piece each; the one in the middle is changed. */
export function wishes(count: number, productId: bigint, odd: Partial<Wish> = {}) {
  const all: Wish[] = Array.from({ length: count }, () => ({ key: newKey(), productId, quantity: 1n }));
  const middle = count >> 1;
  const one = (all[middle] = { ...all[middle]!, ...odd });
  return { all, odd: one, others: all.filter((wish) => wish !== one) };
}

/** `made`, `replayed` or the reason of an error that is fit for a caller. */
export async function buy(node: OrderNode, wish: Wish): Promise<string> {
  const { key, hurried, ...item } = wish;
  try {
    const options = as(1, { timeoutMs: hurried ? 300 : 5000 });
    const { order, replayed } = await node.client.createOrder({ clientRequestId: key, items: [item] }, options);
    assert.equal(order?.clientRequestId, key, 'each gets his own order');
    return replayed ? 'replayed' : 'made';
  } catch (error) {
    // His own clock may be the first to say so.
    const reason = ConnectError.from(error).code === Code.DeadlineExceeded ? 'DEADLINE_EXCEEDED' : reasonOf(error);
    assert.ok(reason !== undefined && reason !== 'INTERNAL', String(error));
    return reason;
  }
}

/** A system in which both services batch, whatever the environment says. Give its nodes `BATCHING`. */
export function useBatchingSystem(): System {
  const size = process.env['BATCH_SIZE'];
  before(() => void Object.assign(process.env, BATCHING));
  const system = useSystem();
  before(() => {
    if (size === undefined) delete process.env['BATCH_SIZE'];
    else process.env['BATCH_SIZE'] = size;
  });
  return system;
}
export const BATCHING = { BATCH_SIZE: '64' };

/**
 * Sends all of them at once behind another request, whose claim stands still until they have their answers, so that their claims
 * gather and go out together on a spare lane. From then on they stay together, since the answers of a batch come in one turn.
 *
 * @param sent resolves when a batch of claims has been sent. Where none ever is, this fails.
 * @returns what becomes of each, as `buy` says, once the batch has been sent.
 */
export async function gather(
  system: System,
  node: OrderNode,
  all: readonly Wish[],
  sent = node.sql.seen(CLAIMS),
): Promise<{ each: Promise<string>[]; outcomes: () => Promise<string[]> }> {
  const held = node.sql.hold(/INSERT INTO t_order_claim/);
  const ahead = buy(node, { key: newKey(), productId: await product(system, 1n), quantity: 1n });
  await held.reached;
  const each = all.map((wish) => buy(node, wish));
  const over = Promise.all(each).finally(() => held.release());
  await Promise.race([sent, over.then(() => assert.fail('no batch of more than one was sent'))]);
  const outcomes = async () => {
    const found = await over;
    assert.equal(await ahead, 'made');
    return found;
  };
  return { each, outcomes };
}

/** Sends all of them together, and waits for what becomes of each. */
export async function together(...args: Parameters<typeof gather>): Promise<string[]> {
  return (await gather(...args)).outcomes();
}

/** Asserts which of the wishes are orders, each with its item and its event, and that nothing is pending. */
export async function assertOrders({ orderDb }: System, all: readonly Wish[], made: readonly Wish[]): Promise<void> {
  const keys = all.map((wish) => Buffer.from(wish.key));
  const orders = await orderDb.Order.findAll({ where: { client_request_id: keys }, raw: true });
  const keyOf = new Map(orders.map((order) => [order.order_no, String(order.client_request_id)]));
  const where = { order_no: [...keyOf.keys()] };
  const items = await orderDb.OrderItem.findAll({ where, raw: true });
  const events = await orderDb.EventRecord.findAll({ where: { ...where, event_type: 'ORDER_CREATED' }, raw: true });
  const bought = items.map((item) => [keyOf.get(item.order_no), item.product_id, item.quantity].join());
  const wanted = made.map((wish) => [wish.key, wish.productId, wish.quantity].join());
  assert.deepEqual(bought.sort(), wanted.sort());
  assert.deepEqual(events.map((event) => keyOf.get(event.order_no)).sort(), made.map((wish) => wish.key).sort());
  assert.deepEqual(new Set(keyOf.values()).size, orders.length);
  assert.equal(await orderDb.OrderClaim.count(), 0);
  assert.equal(await orderDb.EventRecord.count({ where: { event_type: 'STOCK_RESTORE', status: 'WAIT' } }), 0);
}

/** Asserts how often one piece was taken and given back, and how many are left of 100. */
export async function assertTaken(system: System, productId: bigint, taken: number, restored = 0): Promise<void> {
  const movements = [...Array<string>(taken).fill('DEDUCT 1'), ...Array<string>(restored).fill('RESTORE 1')];
  assert.deepEqual(await movementsOf(system, productId), movements);
  assert.equal(await availableOf(system, productId), BigInt(100 - taken + restored));
}
