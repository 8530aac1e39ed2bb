import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import { RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { failsWith, until } from '../../support/expect.ts';
import { loseAnswer, loseRequest, untilGivenUp } from '../../support/stock-edge.ts';
import {
  as,
  availableOf,
  movementsOf,
  newKey,
  type OrderNode,
  product,
  relay,
  useSystem,
} from '../../support/system.ts';

const ATTEMPTS = 4;
const away = () => Promise.reject(new ConnectError('away', Code.Unavailable));

describe('what became of the stock', () => {
  const system = useSystem();
  let node: OrderNode;
  let other: OrderNode;
  let tea: bigint;
  let key: string;

  before(async () => {
    node = await system.orderNode({ STOCK_ATTEMPT_MS: '300' });
    other = await system.orderNode();
  });
  beforeEach(async () => {
    node.edge.seen.restores = 0;
    [tea, key] = [await product(system, 1n), newKey()];
  });

  const buy = (at = node, options: { timeoutMs?: number; signal?: AbortSignal } = {}, clientRequestId = key) =>
    at.client.createOrder({ clientRequestId, items: [{ productId: tea, quantity: 1n }] }, as(1, options));
  const nothingPending = async () => (await system.orderDb.OrderClaim.count()) === 0;
  const event = () =>
    system.orderDb.EventRecord.findOne({ where: { event_type: 'STOCK_RESTORE', status: 'WAIT' }, raw: true });

  it('takes it once when the answer of the first attempt is lost', async () => {
    node.edge.deducts.push(loseAnswer);
    assert.equal((await buy()).replayed, false);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
  });

  it('gives it back when no answer arrives at all', async () => {
    node.edge.deducts.push(...Array.from({ length: ATTEMPTS }, () => loseAnswer));
    const error = await failsWith(buy(), 'SERVICE_UNAVAILABLE');
    assert.ok(error.findDetails(RetryInfoSchema).length > 0);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'RESTORE 1']);
    assert.ok(await nothingPending());
    assert.equal((await buy()).replayed, false, 'the same key makes the order later');
  });

  it('refuses a Deduct that arrives after its Restore', async () => {
    const late: (() => Promise<unknown>)[] = [];
    for (let i = 0; i < ATTEMPTS; i++) {
      node.edge.deducts.push((forward, context) => {
        late.push(forward);
        return loseRequest(forward, context);
      });
    }
    await failsWith(buy(), 'SERVICE_UNAVAILABLE');
    assert.equal(late.length, ATTEMPTS);
    for (const deliver of late) await failsWith(deliver(), 'ORDER_CLOSED');
    assert.deepEqual(await movementsOf(system, tea), []);
  });

  it('asks for no Restore when the only attempt was refused', async () => {
    await buy(other, {}, newKey());
    await failsWith(buy(), 'INSUFFICIENT_STOCK');
    assert.equal(node.edge.seen.restores, 0);
    assert.ok(await nothingPending());
  });

  it('asks for a Restore when an attempt before the refusal may still arrive', async () => {
    let late: () => Promise<unknown> = () => assert.fail('not called');
    node.edge.deducts.push(async (forward, context) => {
      late = forward;
      await buy(other, {}, newKey());
      return untilGivenUp(context);
    });
    await failsWith(buy(), 'INSUFFICIENT_STOCK');
    assert.equal(node.edge.seen.restores, 1);
    await failsWith(late(), 'ORDER_CLOSED');
  });

  it('stages a STOCK_RESTORE event in place of the claim when Restore fails, and the relay gives it back', async () => {
    const cut = await system.orderNode({ STOCK_ATTEMPT_MS: '300' });
    cut.edge.deducts.push(...Array.from({ length: ATTEMPTS }, () => loseAnswer));
    cut.edge.restores.push(...Array.from({ length: ATTEMPTS }, () => away));
    await failsWith(buy(cut), 'SERVICE_UNAVAILABLE');
    assert.ok(await nothingPending());
    assert.equal(await availableOf(system, tea), 0n);
    assert.deepEqual(Object.keys((await event())!.payload as object).sort(), ['items', 'order_no']);
    await system.audit();
    await relay(system);
    assert.equal(await event(), null);
    assert.equal(await availableOf(system, tea), 1n);
  });

  it('keeps the promise with nobody on the port of stock-svc, and later', async () => {
    const lonely = await system.orderNode();
    await lonely.edge.close();
    const error = await failsWith(buy(lonely), 'SERVICE_UNAVAILABLE');
    assert.ok(error.findDetails(RetryInfoSchema).length > 0);
    assert.ok(await event());
    await relay(system);
    assert.equal((await buy()).replayed, false);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1']);
  });

  it('gives it back when the caller hangs up, though nobody waits for the answer', async () => {
    const hangUp = new AbortController();
    node.edge.deducts.push(async (forward, context) => {
      await forward();
      hangUp.abort();
      return untilGivenUp(context);
    });
    const error = await buy(node, { signal: hangUp.signal }).catch((caught: unknown) => caught);
    assert.equal(ConnectError.from(error).code, Code.Canceled);
    await until('the claim is gone', nothingPending);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'RESTORE 1']);
  });

  it('gives it back when the deadline passes: the compensation has time of its own', async () => {
    // One attempt that lasts as long as the call: several could all have failed just before its end.
    other.edge.deducts.push(loseAnswer);
    const error = await buy(other, { timeoutMs: 1000 }).catch((caught: unknown) => caught);
    assert.equal(ConnectError.from(error).code, Code.DeadlineExceeded);
    await until('the claim is gone', nothingPending);
    assert.deepEqual(await movementsOf(system, tea), ['DEDUCT 1', 'RESTORE 1']);
  });

  it('makes no order of stock whose answer came after the deadline', async () => {
    const gate = Promise.withResolvers<void>();
    other.edge.deducts.push(async (forward) => {
      const answer = await forward();
      await gate.promise;
      return answer;
    });
    const call = buy(other, { timeoutMs: 1000 }).catch((caught: unknown) => caught);
    assert.equal(ConnectError.from(await call).code, Code.DeadlineExceeded);
    gate.resolve();
    await until('the claim is gone', nothingPending);
    assert.equal(await availableOf(system, tea), 1n);
  });
});
