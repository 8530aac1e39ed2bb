import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Code } from '@connectrpc/connect';
import { Relay } from './relay.ts';
import { abortOf, failureOf, Rig } from './rig.ts';

describe('a connection', () => {
  const rig = new Rig();
  let relay: Relay | undefined;
  afterEach(async () => {
    await rig.close();
    await relay?.close();
    relay = undefined;
  });

  // None so short that a connection is old before a busy machine has used it: a call is sent again only once.
  for (const [ageMs, keepaliveMs, longestMs] of [
    [500, undefined, 3],
    [400, 60, 200],
    [600, 90, 800],
  ] as const) {
    const keepalive = keepaliveMs === undefined ? '' : `, asked for a sign of life every ${keepaliveMs} ms,`;
    it(`that is ended at ${ageMs} ms${keepalive} loses no call of up to ${longestMs} ms`, async () => {
      const restore = () => sleep(Math.random() * longestMs, {});
      const { address } = await rig.serve({ restore }, { maxConnectionAgeMs: ageMs, keepaliveMs });
      relay = await Relay.to(address);
      // Repeats nothing by itself.
      const client = rig.client(relay.address, { keepaliveMs });
      const lost: string[] = [];
      let calls = 0;
      const endMs = performance.now() + 2000;
      const callers = Array.from({ length: 16 }, async () => {
        while (performance.now() < endMs) {
          calls++;
          await client.restore({}).catch((error: unknown) => lost.push(String(error)));
        }
      });
      await Promise.all(callers);
      assert.ok(relay.connections >= 2, `${relay.connections} connections`);
      assert.deepEqual([lost.length, lost[0]], [0, undefined], `of ${calls} calls`);
    });
  }

  it('that is half open is noticed by a client in the middle of a call, long before its deadline', async () => {
    const arrived = Promise.withResolvers<void>();
    const { address } = await rig.serve({
      async restore(_request, context) {
        arrived.resolve();
        await abortOf(context);
        return {};
      },
    });
    relay = await Relay.to(address);
    const call = failureOf(rig.client(relay.address, { keepaliveMs: 60 }).restore({}, { timeoutMs: 15_000 }));
    await arrived.promise;
    const startMs = performance.now();
    void relay.fallSilent();
    assert.equal((await call).code, Code.Unavailable);
    assert.ok(performance.now() - startMs < 5000);
  });

  it('that is half open is noticed by a client that makes no calls, and the next one takes another', async () => {
    const { address } = await rig.serve({ restore: () => ({ replayed: true }) });
    relay = await Relay.to(address);
    const client = rig.client(relay.address, { keepaliveMs: 30 });
    await client.restore({});
    void relay.fallSilent();
    await sleep(1500);
    assert.equal((await client.restore({}, { timeoutMs: 5000 })).replayed, true);
    assert.equal(relay.connections, 2);
  });

  it('that is half open is noticed by a server, and closed', async () => {
    const { address } = await rig.serve({ restore: () => ({}) }, { keepaliveMs: 30 });
    relay = await Relay.to(address);
    await rig.client(relay.address).restore({});
    await relay.fallSilent();
  });

  it('that carries a call while the server stops is not taken for dead meanwhile', async () => {
    const [arrived, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const restore = async () => {
      arrived.resolve();
      await gate.promise;
      return { replayed: true };
    };
    const { host, address } = await rig.serve({ restore }, { keepaliveMs: 30 });
    const call = rig.client(address, { keepaliveMs: 30 }).restore({});
    await arrived.promise;
    const stopped = host.stop(10_000);
    await sleep(200);
    gate.resolve();
    assert.equal((await call).replayed, true);
    await stopped;
  });
});
