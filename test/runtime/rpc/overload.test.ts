import assert from 'node:assert/strict';
import { mock } from 'node:test';
import type { DescMethod } from '@bufbuild/protobuf';
import { Code, type ConnectError } from '@connectrpc/connect';
import { pino } from 'pino';
import { RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { reasonOf } from '../../../runtime/rpc/errors.ts';
import { Admission, Bound, isRefusal } from '../../../runtime/rpc/overload.ts';
import { failureOf, Rig, until } from './rig.ts';

const boundOf = (limit: number) => new Bound('calls', limit, silentLogger);

/** What is thrown at whoever comes when there is no room. */
function refusalOf(bound: Bound, share?: number): ConnectError {
  try {
    bound.enter(share)();
  } catch (error) {
    return error as ConnectError;
  }
  assert.fail('there was room');
}

/** Milliseconds after which to come again: as RetryInfo says, which is as the pushback says. */
function delayOf(error: ConnectError): number {
  const { seconds, nanos } = error.findDetails(RetryInfoSchema)[0]!.retryDelay!;
  const delayMs = Number(seconds) * 1000 + nanos / 1e6;
  assert.equal(error.metadata.get('grpc-retry-pushback-ms'), String(delayMs));
  return delayMs;
}

describe('Bound', () => {
  afterEach(() => mock.restoreAll());

  it('lets in as many as there are places, and another one for each that leaves', () => {
    const bound = boundOf(2);
    const leaves = [bound.enter(), bound.enter()];
    refusalOf(bound);
    for (const leave of leaves) leave();
    bound.enter();
    bound.enter();
    refusalOf(bound);
  });

  it('lets in, to a share of the places, only while no more than that are taken, by whomsoever', () => {
    const bound = boundOf(4);
    for (let i = 0; i < 3; i++) bound.enter();
    refusalOf(bound, 3 / 4);
    bound.enter();
    refusalOf(bound);
  });

  it('refuses with RESOURCE_EXHAUSTED, and tells different ones different times from 0.5 to 1.5 s', () => {
    const bound = boundOf(0);
    const refusals = Array.from({ length: 32 }, () => refusalOf(bound));
    for (const error of refusals) {
      assert.deepEqual([error.code, reasonOf(error)], [Code.ResourceExhausted, 'OVERLOADED']);
      assert.ok(isRefusal(error));
    }
    const delays = refusals.map(delayOf);
    assert.equal(new Set(delays).size, 16);
    assert.ok(Math.min(...delays) >= 500 && Math.max(...delays) < 1500);
  });

  it('logs once in a second how many it has refused', () => {
    const lines: Record<string, unknown>[] = [];
    const stream = { write: (text: string) => void lines.push(JSON.parse(text) as Record<string, unknown>) };
    const timers: [() => void, number][] = [];
    mock.method(globalThis, 'setTimeout', (fire: () => void, ms: number) => {
      timers.push([fire, ms]);
      return { unref: () => undefined };
    });
    const bound = new Bound('new orders', 0, pino({ messageKey: 'message', base: null, timestamp: false }, stream));
    for (const times of [3, 1]) {
      for (let i = 0; i < times; i++) refusalOf(bound);
      const [[fire, ms]] = timers.splice(0) as [[() => void, number]];
      assert.equal(ms, 1000);
      fire();
    }
    const line = { level: 40, bound: 'new orders', limit: 0, message: 'overloaded' };
    assert.deepEqual(lines, [
      { ...line, refused: 3 },
      { ...line, refused: 1 },
    ]);
    assert.equal(timers.length, 0);
  });
});

describe('Admission', () => {
  it('has all places for reads, three quarters for what may change something, and fewer for what it was told', () => {
    const { getStock, deduct, restore } = StockService.method;
    const admission = new Admission(8, silentLogger, new Map([[deduct, 1 / 2]]));
    const fits = (method: DescMethod) => {
      const leaves: (() => void)[] = [];
      assert.throws(() => {
        for (;;) leaves.push(admission.enter(method));
      }, isRefusal);
      return leaves;
    };
    assert.equal(fits(deduct).length, 4);
    assert.equal(fits(restore).length, 2);
    assert.equal(fits(getStock).length, 2);
  });

  it('does not give a method more places than others that may change something have', () => {
    const { deduct } = StockService.method;
    const admission = new Admission(4, silentLogger, new Map([[deduct, 2]]));
    for (let i = 0; i < 3; i++) admission.enter(deduct);
    assert.throws(() => admission.enter(deduct), isRefusal);
  });
});

describe('GrpcHost with a bound', () => {
  const rig = new Rig();
  afterEach(() => rig.close());

  /** A host with 4 places, whose Restore waits for `open`. */
  async function serve() {
    const gate = Promise.withResolvers<object>();
    let started = 0;
    const { address } = await rig.serve(
      { restore: () => (started++, gate.promise), getStock: () => gate.promise },
      { admission: new Admission(4, silentLogger), deadline: { defaultMs: 10_000, maxMs: 20_000 } },
    );
    const client = rig.client(address);
    /** So many calls are at work. Returns what waits for them. */
    const begun = async (count: number) => {
      const calls = Promise.allSettled(Array.from({ length: count }, () => client.restore({})));
      await until(() => Promise.resolve(started === count));
      return { ended: () => calls };
    };
    return { client, begun, open: () => gate.resolve({}) };
  }

  it('refuses a call that may change something when three quarters are taken, and tells it when to come again', async () => {
    const { client, begun, open } = await serve();
    const calls = await begun(3);
    const error = await failureOf(client.restore({}));
    assert.deepEqual([error.code, reasonOf(error)], [Code.ResourceExhausted, 'OVERLOADED']);
    assert.ok(delayOf(error) >= 500);
    open();
    await calls.ended();
    await client.restore({});
  });

  it('has the last quarter for reads', async () => {
    const { client, begun, open } = await serve();
    await begun(3);
    const read = client.getStock({});
    await until(
      async () => reasonOf(await client.getStock({}, { timeoutMs: 50 }).catch((e: unknown) => e)) === 'OVERLOADED',
    );
    open();
    await read;
    await client.getStock({});
  });

  it('holds the place of a call that has been given up until all work for it has ended', async () => {
    const { client, begun, open } = await serve();
    await begun(2);
    assert.equal((await failureOf(client.restore({}, { timeoutMs: 50 }))).code, Code.DeadlineExceeded);
    assert.equal(reasonOf(await failureOf(client.restore({}))), 'OVERLOADED');
    open();
    await until(() => client.restore({}).then(Boolean, () => false));
  });
});
