import assert from 'node:assert/strict';
import { Code, ConnectError, createContextValues } from '@connectrpc/connect';
import { type CreateOrderRequest, OrderService } from '../../../gen/ordersystem/order/v1/order_service_pb.ts';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { NotSentError } from '../../../runtime/rpc/not-sent.ts';
import { failedAttemptsKey, type RetryOptions } from '../../../runtime/rpc/retry.ts';
import { FakeClock } from './fake-clock.ts';
import { answer, type Call, caller, type Outcome, unavailable } from './retry-rig.ts';
import { failureOf } from './rig.ts';

const errorOf = (code: Code) => new ConnectError(Code[code], code);

describe('retryInterceptor', () => {
  let clock: FakeClock;
  beforeEach(() => (clock = new FakeClock()).install());
  afterEach(() => clock.uninstall());

  /** How many attempts a call makes whose attempts all fail. */
  async function attemptsOf(call: Call, options: RetryOptions = {}, error = unavailable()): Promise<number> {
    let attempts = 0;
    await failureOf(caller(options, () => (attempts++, error))(call));
    return attempts;
  }

  it('repeats a method that the contract marks IDEMPOTENT or NO_SIDE_EFFECTS, and no other', async () => {
    assert.equal(await attemptsOf({ method: StockService.method.deduct }), 4);
    assert.equal(await attemptsOf({ method: StockService.method.getStock }), 4);
    assert.equal(await attemptsOf({ method: OrderService.method.createOrder }), 1);
  });

  it('repeats a CreateOrder that mayRepeat allows, and never one without a key', async () => {
    const method = OrderService.method.createOrder;
    const mayRepeat: RetryOptions['mayRepeat'] = ({ message }) =>
      Boolean((message as CreateOrderRequest).clientRequestId);
    assert.equal(await attemptsOf({ method, message: { clientRequestId: 'k' } }, { mayRepeat }), 4);
    assert.equal(await attemptsOf({ method, message: { clientRequestId: 'k' } }), 1);
    assert.equal(await attemptsOf({ method, message: { clientRequestId: '' } }, { mayRepeat }), 1);
    assert.equal(await attemptsOf({ method }, { mayRepeat }), 1);
  });

  it('repeats on UNAVAILABLE and DEADLINE_EXCEEDED, and on no other code', async () => {
    const codes = Object.values(Code).filter((code) => typeof code === 'number');
    const repeated: Code[] = [];
    for (const code of codes) if ((await attemptsOf({}, {}, errorOf(code))) > 1) repeated.push(code);
    assert.deepEqual(repeated, [Code.DeadlineExceeded, Code.Unavailable]);
  });

  it('repeats on RESOURCE_EXHAUSTED when the server says when to come again, and on no other code then', async () => {
    const codes = Object.values(Code).filter((code) => typeof code === 'number');
    const repeated: Code[] = [];
    for (const code of codes) {
      const error = new ConnectError('', code, { 'grpc-retry-pushback-ms': '10' });
      if ((await attemptsOf({}, {}, error)) > 1) repeated.push(code);
    }
    assert.deepEqual(repeated, [Code.DeadlineExceeded, Code.ResourceExhausted, Code.Unavailable]);
  });

  it('neither repeats nor counts an attempt that was not sent', async () => {
    const notSent = new ConnectError('', Code.Unavailable, undefined, undefined, new NotSentError());
    const told: ConnectError[] = [];
    const outcomes: Outcome[] = [unavailable(), notSent];
    const contextValues = createContextValues().set(failedAttemptsKey, told);
    const error = await failureOf(caller({}, () => outcomes.shift())({ contextValues }));
    assert.equal(error, notSent);
    assert.deepEqual([told.length, outcomes.length], [1, 0]);
  });

  it('makes as many attempts as it is told, the first included', async () => {
    for (const maxAttempts of [1, 2, 7]) assert.equal(await attemptsOf({}, { maxAttempts }), maxAttempts);
  });

  it('answers with the first attempt that succeeds, and makes no other', async () => {
    const outcomes: Outcome[] = [unavailable(), errorOf(Code.DeadlineExceeded), undefined, undefined];
    assert.equal(await caller({}, () => outcomes.shift())(), answer);
    assert.equal(outcomes.length, 1);
  });

  it("fails with the last attempt's error", async () => {
    const errors = [unavailable(), errorOf(Code.DeadlineExceeded), errorOf(Code.NotFound)];
    const left = [...errors];
    assert.equal(await failureOf(caller({}, () => left.shift())()), errors[2]);
  });

  it('makes a ConnectError of anything else that an attempt throws, and does not repeat it', async () => {
    let attempts = 0;
    const call = caller({}, () => {
      attempts++;
      throw new TypeError('a fault');
    });
    const error = await failureOf(call());
    assert.deepEqual([attempts, error.code, error.rawMessage], [1, Code.Unknown, 'a fault']);
  });

  it('tells the server how many attempts were made before', async () => {
    const seen: (string | null)[] = [];
    await failureOf(caller({}, (header) => (seen.push(header.get('grpc-previous-rpc-attempts')), unavailable()))());
    assert.deepEqual(seen, [null, '1', '2', '3']);
  });

  it("tells each attempt's error to a caller who asks", async () => {
    const errors = [unavailable(), errorOf(Code.DeadlineExceeded)];
    for (const last of [undefined, errorOf(Code.NotFound)]) {
      const told: ConnectError[] = [];
      const outcomes = [...errors, last];
      await caller({}, () => outcomes.shift())({
        contextValues: createContextValues().set(failedAttemptsKey, told),
      }).catch(() => {});
      assert.deepEqual(told, last ? [...errors, last] : errors);
    }
  });

  it('leaves streams alone', async () => {
    let attempts = 0;
    await failureOf(caller({}, () => (attempts++, unavailable()))({ stream: true as never }));
    assert.equal(attempts, 1);
  });
});
