import { setTimeout as sleep } from 'node:timers/promises';
import { findBrokenRules } from '../../ops/audit/audit.ts';
import { isDatabaseAway } from '../../runtime/db/sql-errors.ts';
import { select } from '../../runtime/db/statements.ts';
import type { Intent } from './people.ts';
import type { World } from './world.ts';

/** The longest that anything may take to settle: claim lease, event lease and the back-off between them, with room to spare. */
const SETTLE_MS = 30_000;

/** Waits until nothing is at work any more. Returns how long it took, in milliseconds; undefined: it did not settle. */
export async function settle({ orderDb, news }: World): Promise<number | undefined> {
  const start = performance.now();
  while (performance.now() - start < SETTLE_MS) {
    const [row] = await select<{ open: string }>(
      orderDb.sequelize,
      `SELECT (SELECT COUNT(*) FROM t_order_claim)
        + (SELECT COUNT(*) FROM t_event_record WHERE status = 'WAIT')
        + (SELECT COUNT(*) FROM t_order WHERE status = 'WAIT_PAY' AND ?) AS open`,
      // Where somebody hears of orders, they are to come to their end: no news is on its way then.
      [news !== undefined],
    );
    if (Number(row!.open) === 0) return performance.now() - start;
    await sleep(50);
  }
  return undefined;
}

/** What an audit reports while something is at work: nothing, since no crash and no loss breaks a rule at any moment. */
export async function brokenMeanwhile(world: World, work: Promise<unknown>): Promise<string[]> {
  let over = false;
  const done = () => void (over = true);
  work.then(done, done);
  const broken: string[] = [];
  while (!over) {
    // A database that is killed answers nobody.
    const findings = await audit(world).catch(noneWhenAway);
    broken.push(...findings.map(({ message }) => `while at work: ${message}`));
    await sleep(250);
  }
  return broken;
}

function audit({ orderDb, stockDb, retentionMs }: World) {
  return findBrokenRules({ order: orderDb.sequelize, stock: stockDb.sequelize }, { retentionMs });
}

function noneWhenAway(error: unknown): [] {
  if (isDatabaseAway(error)) return [];
  throw error;
}

/** What of the promise does not hold, once all is settled. */
export async function violationsOf(world: World, intents: readonly Intent[]): Promise<string[]> {
  const { orderDb, news } = world;
  const broken = await audit(world);
  const violations = broken.map(({ message }) => message);
  const dead = await select<{ event_id: string }>(
    orderDb.sequelize,
    "SELECT event_id FROM t_event_record WHERE status NOT IN ('SENT', 'WAIT')",
    [],
  );
  violations.push(...dead.map((event) => `event ${event.event_id} waits for a person`));
  violations.push(...((await news?.listener.misheard(orderDb)) ?? []));
  for (let i = 0; i < intents.length; i += 1000) {
    violations.push(...(await wrongAnswers(orderDb, intents.slice(i, i + 1000))));
  }
  return violations;
}

/** Every caller that was told a number can read exactly that order, and nobody has one who was told that he has none. */
async function wrongAnswers({ sequelize }: World['orderDb'], intents: readonly Intent[]): Promise<string[]> {
  if (intents.length === 0) return [];
  const rows = await select<{
    order_no: string;
    client_request_id: Buffer;
    user_id: string;
    status: string;
    bought: string;
  }>(
    sequelize,
    `SELECT o.order_no, o.client_request_id, o.user_id, o.status, GROUP_CONCAT(i.product_id, 'x', i.quantity) AS bought
      FROM t_order o JOIN t_order_item i ON i.order_no = o.order_no WHERE o.client_request_id IN (?)
      GROUP BY o.order_no, o.client_request_id, o.user_id, o.status`,
    [intents.map(({ key }) => Buffer.from(key))],
  );
  const orders = Map.groupBy(rows, (row) => row.client_request_id.toString());
  return intents.flatMap(({ key, userId, productId, quantity, orderNos, told, refused }) => {
    const own = orders.get(key) ?? [];
    const wrong: string[] = [];
    if (own.length > 1) wrong.push(`${key} has ${own.length} orders`);
    if (orderNos.size > 1) wrong.push(`${key} was told ${[...orderNos].join(' and ')}`);
    for (const state of told) {
      if (own[0]?.status !== state) wrong.push(`${key} was told that its order is ${state}; it is ${own[0]?.status}`);
    }
    for (const orderNo of orderNos) {
      const order = own.find((row) => row.order_no === orderNo);
      if (!order) wrong.push(`${key} was told ${orderNo}, which is not there`);
      else if (order.user_id !== String(userId) || order.bought !== `${productId}x${quantity}`) {
        wrong.push(`${key}: order ${orderNo} is not what was asked for`);
      }
    }
    if (refused !== undefined && orderNos.size === 0 && own.length > 0) {
      wrong.push(`${key} was refused with ${refused}, and has order ${own[0]!.order_no}`);
    }
    return wrong;
  });
}
