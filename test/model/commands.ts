import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Cart, Expected, ModelOrder, ModelShop } from './promise.ts';
import { type Answer, type Fault, faults, type RealShop } from './real-shop.ts';

type Command = fc.AsyncCommand<ModelShop, RealShop>;

export const users = [1, 2] as const;
const carts: readonly Cart[] = [
  [{ product: 0, quantity: 1 }],
  [{ product: 0, quantity: 2 }],
  [{ product: 1, quantity: 3 }],
  [
    { product: 0, quantity: 1 },
    { product: 1, quantity: 1 },
  ],
  // The same with its lines the other way round.
  [
    { product: 1, quantity: 1 },
    { product: 0, quantity: 1 },
  ],
];

/** Long enough for whatever a fault has left behind. */
const PATIENCE_MS = 5000;

const user = fc.constantFrom(...users);
const key = fc.constantFrom('k1', 'k2', 'k3');
const state = fc.constantFrom(undefined, 'WAIT_PAY', 'PAID', 'CANCELLED');
const fault = fc.option(fc.constantFrom(...faults), { freq: 3, nil: undefined });
/** One of the orders that there are, counted from the newest, and whether it is its own user who calls. */
const nth = fc.nat({ max: 3 });
const own = fc.constantFrom(true, true, true, true, false);
const amountOff = fc.constantFrom(0, 0, 0, 1);
const paymentNo = fc.constantFrom('p1', 'p2', 'p3');

/** Every call that OrderService takes, and the expiry. */
export const commands: fc.Arbitrary<Command>[] = [
  fc.record({ user, key, cart: fc.constantFrom(...carts), fault }).map(createWithKey),
  fc.record({ user, cart: fc.constantFrom(...carts), fault }).map(createWithoutKey),
  fc.record({ own, nth, paymentNo, amountOff, fault }).map(pay),
  fc.record({ own, nth, reason: fc.constantFrom('', 'changed my mind'), fault }).map(cancel),
  fc.record({ own, nth }).map(get),
  fc.record({ user, key }).map(getByKey),
  fc.record({ user, state, pageSize: fc.integer({ min: 1, max: 3 }) }).map(list),
  // Not often: there is little to do with orders that have expired.
  fc.constantFrom(false, false, false, true).map(expire),
];

function createWithKey({ user, key, cart, fault }: { user: number; key: string; cart: Cart; fault?: Fault }): Command {
  return command('create', { user, key, cart, fault }, async (model, real) =>
    tell(real, fault, model.create(user, key, cart), () => real.create(user, key, cart)),
  );
}

/** When its outcome is open, the list tells it: a repeat would be another order. */
function createWithoutKey({ user, cart, fault }: { user: number; cart: Cart; fault?: Fault }): Command {
  return command('create', { user, cart, fault }, async (model, real) => {
    const known = new Set(model.orders.map(({ orderNo }) => orderNo));
    let isRepeat = false;
    await tell(real, fault, model.create(user, undefined, cart), async () => {
      const made = isRepeat && (await real.list(user, undefined, 100)).find(({ orderNo }) => !known.has(orderNo));
      isRepeat = true;
      return made ? { order: made, replayed: false } : real.create(user, undefined, cart);
    });
  });
}

type Payment = { own: boolean; nth: number; paymentNo: string; amountOff: number; fault?: Fault };
function pay({ own, nth, paymentNo, amountOff, fault }: Payment): Command {
  return ofOrder('pay', { own, nth, paymentNo, amountOff, fault }, async ({ order, user }, model, real) => {
    const amount = order.total + amountOff;
    await tell(real, fault, model.pay(user, order, paymentNo, amount), () => real.pay(user, order, paymentNo, amount));
  });
}

function cancel({ own, nth, reason, fault }: { own: boolean; nth: number; reason: string; fault?: Fault }): Command {
  return ofOrder('cancel', { own, nth, reason, fault }, async ({ order, user }, model, real) => {
    const said = reason === '' ? undefined : reason;
    await tell(real, fault, model.cancel(user, order, said), () => real.cancel(user, order, reason));
    await real.settle();
  });
}

function get({ own, nth }: { own: boolean; nth: number }): Command {
  return ofOrder('get', { own, nth }, async ({ order, user }, model, real) =>
    tell(real, undefined, model.get(user, order), () => real.get(user, order)),
  );
}

function getByKey({ user, key }: { user: number; key: string }): Command {
  return command('get by key', { user, key }, async (model, real) => {
    const expected = model.byKey(user, key);
    const found = await real.byKey(user, key);
    if (expected) real.check(found, expected);
    else assert.equal(found, undefined);
  });
}

function list({ user, state, pageSize }: { user: number; state?: ModelOrder['state']; pageSize: number }): Command {
  return command('list', { user, state, pageSize }, async (model, real) => {
    const [found, expected] = [await real.list(user, state, pageSize), model.list(user, state)];
    assert.deepEqual(
      found.map(({ orderNo }) => orderNo),
      expected.map(({ orderNo }) => orderNo),
    );
    found.forEach((order, i) => real.check(order, expected[i]!));
  });
}

function expire(happens: boolean): Command {
  const one = command('expire', {}, async (model, real) => {
    model.expire();
    await real.expire();
  });
  return { ...one, check: () => happens };
}

/** Makes a call, and fails unless it is answered as the model says; when a fault left its outcome open, its repeat is. */
async function tell(real: RealShop, fault: Fault | undefined, expected: Expected, call: () => Promise<Answer>) {
  let answer = fault === undefined ? await call() : await real.under(fault, call);
  let repeated = false;
  // A fault may be felt in the next calls too: connections that are gone, a circuit that is open.
  for (const end = performance.now() + PATIENCE_MS; isOpen(answer) && performance.now() < end;) {
    await real.recover();
    answer = await call();
    repeated = true;
  }
  if (typeof expected === 'string' || 'reason' in answer) {
    assert.equal('reason' in answer ? answer.reason : 'an order', expected);
    return;
  }
  // The attempt whose answer was lost may have done it.
  if (!repeated || expected.replayed) assert.equal(answer.replayed, expected.replayed);
  real.check(answer.order, expected.order);
}

function isOpen(answer: Answer): boolean {
  return 'reason' in answer && answer.retry === 'same_key';
}

type Run = (model: ModelShop, real: RealShop) => Promise<void>;

function command(name: string, args: object, run: Run): Command {
  const text = `${name} ${JSON.stringify(args)}`;
  return { check: () => true, run, toString: () => text };
}

/** A call about one of the orders that there are. */
function ofOrder(
  name: string,
  args: { own: boolean; nth: number; [more: string]: unknown },
  run: (about: { order: ModelOrder; user: number }, model: ModelShop, real: RealShop) => Promise<void>,
): Command {
  const one = command(name, args, (model, real) => {
    const order = model.orders.at(-1 - (args.nth % model.orders.length))!;
    return run({ order, user: args.own ? order.user : 3 - order.user }, model, real);
  });
  return { ...one, check: (model) => model.orders.length > 0 };
}
