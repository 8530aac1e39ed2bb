import assert from 'node:assert/strict';
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import { reasonOf } from '../../../runtime/rpc/errors.ts';
import { rawCall } from '../../support/raw-call.ts';
import { abortOf, failureOf, Rig } from './rig.ts';

describe('the deadline of a call that GrpcHost serves', () => {
  const rig = new Rig();
  afterEach(() => rig.close());

  /** Milliseconds that a call has left when it arrives, under a default of 40 s and a cap of 60 s. */
  async function leftOf(timeoutMs?: number): Promise<number> {
    let left: number | undefined;
    const restore = (_request: unknown, context: HandlerContext) => ((left = context.timeoutMs()), {});
    const client = await rig.clientOf({ restore }, { deadline: { defaultMs: 40_000, maxMs: 60_000 } });
    await client.restore({}, { timeoutMs });
    return left!;
  }

  function assertBetween(value: number, min: number, max: number): void {
    assert.ok(value > min && value <= max, `${value} is not in (${min}, ${max}]`);
  }

  it('is the default when the caller sets none', async () => assertBetween(await leftOf(), 39_000, 40_000));

  it("is the caller's own below the cap", async () => assertBetween(await leftOf(50_000), 49_000, 50_000));

  it('is the cap when the caller asks for more', async () => assertBetween(await leftOf(90_000), 59_000, 60_000));

  it("aborts the handler's signal and answers DEADLINE_EXCEEDED when it passes", async () => {
    const aborted = Promise.withResolvers<unknown>();
    const client = await rig.clientOf(
      {
        async restore(_request, context) {
          aborted.resolve(await abortOf(context));
          throw new Error('whatever the handler makes of it');
        },
      },
      { deadline: { defaultMs: 30, maxMs: 1000 } },
    );
    const error = await failureOf(client.restore({}));
    assert.deepEqual([Code[error.code], reasonOf(error)], ['DeadlineExceeded', 'DEADLINE_EXCEEDED']);
    assert.equal(ConnectError.from(await aborted.promise).code, Code.DeadlineExceeded);
  });

  it('is answered when it passes even if the handler does not look at its signal', async () => {
    const gate = Promise.withResolvers<object>();
    const client = await rig.clientOf(
      { restore: () => gate.promise, getStock: () => ({}) },
      { deadline: { defaultMs: 30, maxMs: 1000 } },
    );
    const error = await failureOf(client.restore({}));
    assert.deepEqual([Code[error.code], reasonOf(error)], ['DeadlineExceeded', 'DEADLINE_EXCEEDED']);
    gate.resolve({});
    assert.ok(await client.getStock({}), 'the late answer did no harm');
  });

  it("names itself as the reason when the caller's own has passed", async () => {
    const aborted = Promise.withResolvers<unknown>();
    const { address } = await rig.serve({
      restore: async (_request, context) => (aborted.resolve(await abortOf(context)), {}),
    });
    const trailers = await callRestore(address, '30m');
    assert.equal(trailers['grpc-status'], String(Code.DeadlineExceeded));
    assert.equal(ConnectError.from(await aborted.promise).code, Code.DeadlineExceeded);
  });

  for (const timeout of ['0m', '0n', '1n', '999u']) {
    it(`starts no handler when it is already over: ${timeout}`, async () => {
      let started = 0;
      const { address, host } = await rig.serve({ restore: () => (started++, {}) });
      const trailers = await callRestore(address, timeout);
      await host.stop(1000);
      assert.equal(trailers['grpc-status'], String(Code.DeadlineExceeded));
      assert.equal(started, 0);
    });
  }

  it('is that of the method', async () => {
    const left: Record<string, number> = {};
    const note = (_request: unknown, context: HandlerContext) => (
      (left[context.method.name] = context.timeoutMs()!),
      {}
    );
    const client = await rig.clientOf(
      { restore: note, getStock: note },
      {
        deadline: ({ name }) =>
          name === 'Restore' ? { defaultMs: 40_000, maxMs: 60_000 } : { defaultMs: 4_000, maxMs: 6_000 },
      },
    );
    await client.restore({});
    await client.getStock({});
    assertBetween(left['Restore']!, 39_000, 40_000);
    assertBetween(left['GetStock']!, 3_000, 4_000);
    await client.restore({}, { timeoutMs: 90_000 });
    await client.getStock({}, { timeoutMs: 90_000 });
    assertBetween(left['Restore']!, 59_000, 60_000);
    assertBetween(left['GetStock']!, 5_000, 6_000);
  });

  it("leaves the handler's signal alone until then", async () => {
    let aborted: boolean | undefined;
    const client = await rig.clientOf({
      restore: (_request, { signal }) => ((aborted = signal.aborted), {}),
    });
    await client.restore({}, { timeoutMs: 5000 });
    assert.equal(aborted, false);
  });
});

/** Calls Restore without a client that watches the deadline itself. */
function callRestore(address: string, timeout: string): Promise<Record<string, unknown>> {
  return rawCall(address, '/ordersystem.stock.v1.StockService/Restore', { 'grpc-timeout': timeout });
}
