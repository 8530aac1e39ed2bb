import assert from 'node:assert/strict';
import { type MessageInitShape, create, toBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { OrderService } from '../../../gen/ordersystem/order/v1/order_service_pb.ts';
import { stepChannel, type StepEvent } from '../../../runtime/steps.ts';
import { rawCall } from '../../support/raw-call.ts';
import { as, movementsOf, newKey, type OrderNode, product, useSystem } from '../../support/system.ts';

const { createOrder, getOrder } = OrderService.method;
const LOOK_AT_ORDER = /FROM t_order WHERE client_request_id/;

describe('the deadline of a caller of order-svc', () => {
  const system = useSystem();
  let node: OrderNode;
  let tea: bigint;

  before(async () => (node = await system.orderNode()));
  beforeEach(async () => (tea = await product(system, 9n)));

  const order = (clientRequestId = newKey()) => ({ clientRequestId, items: [{ productId: tea, quantity: 1n }] });

  function callRaw<M extends typeof createOrder | typeof getOrder>(
    method: M,
    request: MessageInitShape<M['input']>,
    timeout: string,
  ) {
    const path = `/${method.parent.typeName}/${method.name}`;
    const bytes = toBinary<M['input']>(method.input, create<M['input']>(method.input, request));
    return rawCall(node.address, path, { 'grpc-timeout': timeout, 'x-user-id': '1' }, bytes);
  }

  for (const timeout of ['0n', '1n', '0m']) {
    it(`that is over when the request arrives (${timeout}) lets it touch nothing`, async () => {
      let touched = false;
      void node.sql.seen(/t_order/).then(() => (touched = true));
      const answers = [
        await callRaw(createOrder, order(), timeout),
        await callRaw(getOrder, { orderNo: '1' }, timeout),
        // Has time, and asks for what is refused without a look at the database; so whatever came of those before has been sent.
        await callRaw(getOrder, { orderNo: 'none' }, '5S'),
      ];
      assert.deepEqual(
        answers.map((trailers) => Number(trailers['grpc-status'])),
        [Code.DeadlineExceeded, Code.DeadlineExceeded, Code.InvalidArgument],
      );
      assert.equal(touched, false);
      assert.deepEqual(await movementsOf(system, tea), []);
      await callRaw(getOrder, { orderNo: '1' }, '5S');
      assert.equal(touched, true, 'by one that has time');
    });
  }

  it('is handed on to stock-svc: what is left of it, and no more', async () => {
    const startMs = performance.now();
    const look = node.sql.hold(LOOK_AT_ORDER);
    let [seenMs, leftMs] = [NaN, NaN];
    // What is left is said when it is sent: on its way nobody counts.
    const onStep = (event: unknown) => {
      if ((event as StepEvent).step === 'deduct') leftMs ||= 1500 - (performance.now() - startMs);
    };
    stepChannel.subscribe(onStep);
    node.edge.deducts.push((forward, context) => ((seenMs = context.timeoutMs()!), forward()));
    const call = node.client.createOrder(order(), as(1, { timeoutMs: 1500 }));
    await look.reached;
    await new Promise((resolve) => setTimeout(resolve, 200));
    look.release();
    await call;
    stepChannel.unsubscribe(onStep);
    // On the wire it is in whole milliseconds, rounded up by each of the two who send it, and grpc-js counts by another clock.
    assert.ok(seenMs <= leftMs + 5 && seenMs > 0, `stock-svc has ${seenMs} ms of ${leftMs}`);
    assert.ok(seenMs <= 1305);
  });

  it('is not handed on beyond the longest attempt', async () => {
    const patient = await system.orderNode({ STOCK_ATTEMPT_MS: '700' });
    let seenMs = NaN;
    patient.edge.deducts.push((forward, context) => ((seenMs = context.timeoutMs()!), forward()));
    await patient.client.createOrder(order(), as(1, { timeoutMs: 20_000 }));
    assert.ok(seenMs <= 700 && seenMs > 0, `${seenMs} ms`);
  });
});
