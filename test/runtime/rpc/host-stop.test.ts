import assert from 'node:assert/strict';
import { Code, type ConnectError } from '@connectrpc/connect';
import { failureOf, Rig, type StockImpl } from './rig.ts';

/** An implementation of Restore that waits for `open`. */
function gated(): { impl: StockImpl; arrived: Promise<void>; open: () => void; log: string[] } {
  const arrived = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const log: string[] = [];
  const impl: StockImpl = {
    async restore(_request, { signal }) {
      signal.addEventListener('abort', () => log.push('told'));
      arrived.resolve();
      await gate.promise;
      log.push('handler ended');
      return { replayed: true };
    },
    getStock: () => ({}),
  };
  return { impl, arrived: arrived.promise, open: gate.resolve, log };
}

describe('GrpcHost.stop', () => {
  const rig = new Rig();
  afterEach(() => rig.close());

  it('waits for a call in work, which is answered, and takes no new one', async () => {
    const { impl, arrived, open, log } = gated();
    const { host, address } = await rig.serve(impl);
    const client = rig.client(address);
    const call = client.restore({});
    await arrived;
    const stopped = host.stop(10_000).then(() => log.push('stopped'));
    // On the client's old connection and on a new one.
    const refused = [await failureOf(client.getStock({})), await failureOf(rig.client(address).getStock({}))];
    assert.deepEqual(
      refused.map(({ code }) => Code[code]),
      ['Unavailable', 'Unavailable'],
    );
    open();
    assert.equal((await call).replayed, true);
    await stopped;
    assert.deepEqual(
      log.filter((line) => line !== 'told'),
      ['handler ended', 'stopped'],
    );
  });

  it('cuts off what is not over after its grace, and tells the handler', async () => {
    const { impl, arrived, open, log } = gated();
    const { host, address } = await rig.serve(impl);
    const call = failureOf(rig.client(address).restore({}));
    await arrived;
    const stopped = host.stop(20).then(() => log.push('stopped'));
    assert.ok(isLost(await call));
    await time();
    assert.deepEqual(log, ['told']);
    open();
    await stopped;
    assert.deepEqual(log, ['told', 'handler ended', 'stopped']);
  });

  it('waits for a handler that goes on after the deadline of its call', async () => {
    const { impl, arrived, open, log } = gated();
    const { host, address } = await rig.serve(impl, { deadline: { defaultMs: 20, maxMs: 1000 } });
    const client = rig.client(address);
    const call = failureOf(client.restore({}));
    await arrived;
    assert.equal((await call).code, Code.DeadlineExceeded);
    const stopped = host.stop(0).then(() => log.push('stopped'));
    await time();
    assert.deepEqual(log, ['told']);
    open();
    await stopped;
    assert.deepEqual(log, ['told', 'handler ended', 'stopped']);
  });

  it('ends at once when nothing is in work, long before its grace', async () => {
    const { impl } = gated();
    const { host, address } = await rig.serve(impl);
    await rig.client(address).getStock({});
    const startMs = performance.now();
    await host.stop(60_000);
    assert.ok(performance.now() - startMs < 5000);
  });

  it('may be called on a host that never listened, and again', async () => {
    const { host } = await rig.serve({ getStock: () => ({}) });
    await Promise.all([host.stop(1000), host.stop(1000)]);
    await host.stop(1000);
  });
});

/** Time in which a stop that does not wait would end. */
function time(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}

/** The caller cannot know whether the call had its effect. */
function isLost({ code }: ConnectError): boolean {
  return code === Code.Unavailable || code === Code.Canceled || code === Code.Internal;
}
