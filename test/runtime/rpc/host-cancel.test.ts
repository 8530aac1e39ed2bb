import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import { abortOf, failureOf, Rig } from './rig.ts';

describe('a call that its caller cancels', () => {
  const rig = new Rig();
  afterEach(() => rig.close());

  it("aborts the handler's signal with CANCELLED", async () => {
    const arrived = Promise.withResolvers<void>();
    const aborted = Promise.withResolvers<unknown>();
    const client = await rig.clientOf({
      async restore(_request, context) {
        arrived.resolve();
        aborted.resolve(await abortOf(context));
        return {};
      },
    });
    const controller = new AbortController();
    const call = failureOf(client.restore({}, { signal: controller.signal }));
    await arrived.promise;
    controller.abort();
    assert.equal((await call).code, Code.Canceled);
    assert.equal(ConnectError.from(await aborted.promise).code, Code.Canceled);
  });

  it('leaves other calls alone', async () => {
    const arrived = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<object>();
    const client = await rig.clientOf({
      async deduct(_request, context) {
        arrived.resolve();
        await abortOf(context);
        return {};
      },
      restore: () => gate.promise,
    });
    const controller = new AbortController();
    const other = client.restore({});
    const call = failureOf(client.deduct({}, { signal: controller.signal }));
    await arrived.promise;
    controller.abort();
    await call;
    gate.resolve({ replayed: true });
    assert.equal((await other).replayed, true);
  });
});
