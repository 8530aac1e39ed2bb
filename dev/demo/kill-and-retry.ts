import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer, Stage } from './stage.ts';

// The claim of the attempt that dies lasts as long as its caller would wait, and a margin.
const callTimeoutMs = 1_500;
const patienceMs = 20_000;

/**
 * order-svc dies by SIGKILL when its stock has been taken and before there is an order. It is started again, and the caller sends
 * the same key until he has his order.
 */
export async function killAndRetry(stage: Stage): Promise<void> {
  const { shop, print } = stage;
  const key = stage.newKey();
  const before = await stage.available();
  const killed = shop.edge.crashAfterDeduct(() => shop.killOrderService());
  const first = stage.buy(key, { timeoutMs: callTimeoutMs });
  await Promise.race([killed, first.then(failUnlessKilled)]);

  const { orders } = await stage.numbers();
  const claims = await stage.claims();
  const after = await stage.available();
  stage.expect(orders === 0 && claims.length === 1, `killed: ${orders} orders, ${claims.length} claims`);
  stage.expect(before - after === 2, `killed: stock ${before} → ${after}`);
  print(`   order-svc killed by SIGKILL: ${orders} orders, ${claims.length} claim, stock ${before} → ${after}`);

  print(`   order-svc started again on ${await shop.startOrderService()}`);
  stage.expect('refused' in (await first), 'a dead process answered');
  const left = Math.max(0, ...claims.map((claim) => claim.expire_time.getTime() - Date.now()));
  print(`   the caller tries again; waiting for the dead attempt's claim to expire (${(left / 1000).toFixed(1)} s)…`);
  stage.expectOneOrder([await retryUntilAnswered(stage, key)]);
  for (const { order_no: orderNo } of claims) await restored(stage, orderNo);
}

/** The kill cuts the call off, so the answer can be here a moment before. Without any kill, the answer says what went wrong. */
async function failUnlessKilled(answer: Answer): Promise<void> {
  await sleep(callTimeoutMs);
  throw new Error(`order-svc was not killed; the caller was told ${JSON.stringify(answer)}`);
}

async function retryUntilAnswered(stage: Stage, key: string): Promise<Answer> {
  for (const deadline = Date.now() + patienceMs; ;) {
    const answer = await stage.buy(key);
    if ('orderNo' in answer || Date.now() > deadline) return answer;
    await sleep(100);
  }
}

/** Waits until the stock of the dead attempt has been given back. */
async function restored(stage: Stage, orderNo: string): Promise<void> {
  const where = { order_no: orderNo, event_type: 'STOCK_RESTORE', status: 'SENT' };
  for (const deadline = Date.now() + patienceMs; Date.now() < deadline; await sleep(20)) {
    if ((await stage.shop.orderDb.EventRecord.count({ where })) > 0) return;
  }
  stage.expect(false, `the stock of the dead attempt ${orderNo} was not given back`);
}
