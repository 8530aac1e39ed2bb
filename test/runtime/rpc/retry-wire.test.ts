import assert from 'node:assert/strict';
import { Code, type ConnectError, createClient, type HandlerContext } from '@connectrpc/connect';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { deadlineInterceptor } from '../../../runtime/rpc/deadline.ts';
import { retryInterceptor, type RetryOptions } from '../../../runtime/rpc/retry.ts';
import { untilGivenUp } from '../../support/stock-edge.ts';
import { failureOf, Rig, type StockImpl } from './rig.ts';
import { caller, unavailable } from './retry-rig.ts';

type Attempt = (context: HandlerContext) => Promise<object>;

describe('retryInterceptor on the wire', () => {
  const rig = new Rig();
  afterEach(() => rig.close());

  const seen: (string | null)[] = [];
  beforeEach(() => seen.splice(0));

  async function clientOf(attempts: Attempt[], options: RetryOptions = {}) {
    const getStock: StockImpl['getStock'] = (_request, context) => {
      seen.push(context.requestHeader.get('grpc-previous-rpc-attempts'));
      return attempts.shift()!(context);
    };
    const { address } = await rig.serve({ getStock });
    return rig.client(address, { interceptors: [deadlineInterceptor(10_000), retryInterceptor(options)] });
  }

  const answers: Attempt = () => Promise.resolve({ stocks: [{ productId: 7n }] });

  it('answers with the second attempt when the answer of the first one gets lost', async () => {
    const client = await clientOf([untilGivenUp, answers], { attemptTimeoutMs: 250 });
    assert.equal((await client.getStock({})).stocks[0]?.productId, 7n);
    assert.deepEqual(seen, [null, '1']);
  });

  it("obeys the server's pushback", async () => {
    const refuses = (pushback: string) => () => Promise.reject(unavailable(pushback));
    // A back-off of its own would take longer than the call has.
    const client = await clientOf([refuses('1'), refuses('0'), answers, refuses('-1'), answers], {
      backoff: { baseMs: 60_000, maxMs: 60_000 },
      random: () => 0.9,
    });
    assert.equal((await client.getStock({})).stocks.length, 1);
    assert.equal((await failureOf(client.getStock({}))).code, Code.Unavailable);
    assert.deepEqual(seen, [null, '1', '2', null]);
  });

  it('repeats what did not reach a server', async () => {
    const { address, host } = await rig.serve({ getStock: () => ({}) });
    await host.stop(0);
    const failed: Code[] = [];
    const transport = rig.transport(address, {
      interceptors: [
        retryInterceptor({ backoff: { baseMs: 1, maxMs: 1 } }),
        (next) => (request) =>
          next(request).catch((error: ConnectError) => (failed.push(error.code), Promise.reject(error))),
      ],
    });
    await failureOf(createClient(StockService, transport).getStock({}));
    assert.deepEqual(failed, Array(4).fill(Code.Unavailable));
  });

  it('stops waiting at once when the caller cancels, with the last error as the cause', async () => {
    const controller = new AbortController();
    const error = unavailable('5000');
    const failed = Promise.withResolvers<void>();
    const call = failureOf(caller({ maxAttempts: 2 }, () => (failed.resolve(), error))({ signal: controller.signal }));
    await failed.promise;
    setImmediate(() => controller.abort());
    const { code, cause } = await call;
    assert.deepEqual([code, cause], [Code.Canceled, error]);
  });
});
