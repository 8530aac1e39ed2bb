import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import { reasonOf } from '../../../runtime/rpc/errors.ts';
import { clientOf, everyWay, HttpRig, pathOf, post, refusalIn } from './http-rig.ts';
import { abortOf, failureOf } from './rig.ts';

describe('the deadline of a call that HttpDoor serves', () => {
  const rig = new HttpRig();
  afterEach(() => rig.close());

  /** Milliseconds that a call with these headers has left when it arrives, under a default of 40 s and a cap of 60 s. */
  async function leftOf(headers: Record<string, string>): Promise<number> {
    let left: number | undefined;
    const restore = (_request: unknown, context: HandlerContext) => ((left = context.timeoutMs()), {});
    const { url } = await rig.serve({ restore }, { deadline: { defaultMs: 40_000, maxMs: 60_000 } });
    const response = await post(url, 'Restore', '{}', headers);
    assert.equal(response.status, 200);
    return left!;
  }

  const times: [what: string, headers: Record<string, string>, leftMs: number][] = [
    ['the default when the caller sets none', {}, 40_000],
    ["the caller's own below the cap, as Connect writes it", { 'connect-timeout-ms': '50000' }, 50_000],
    ["the caller's own below the cap, as gRPC writes it", { 'grpc-timeout': '50S' }, 50_000],
    ['the shorter one of both', { 'connect-timeout-ms': '50000', 'grpc-timeout': '45S' }, 45_000],
    ['the cap when the caller asks for more', { 'connect-timeout-ms': '9999999999' }, 60_000],
  ];
  for (const [what, headers, leftMs] of times) {
    it(`is ${what}`, async () => {
      const left = await leftOf(headers);
      assert.ok(left > leftMs - 1000 && left <= leftMs, `${left}`);
    });
  }

  for (const [name, value] of [
    ['connect-timeout-ms', '1s'],
    ['connect-timeout-ms', '-1'],
    ['grpc-timeout', '5'],
    ['grpc-timeout', ''],
  ]) {
    it(`is refused when it cannot be read: ${name}: ${value}`, async () => {
      const { url } = await rig.serve({ restore: () => assert.fail('called') });
      const { status, reason, fields } = await refusalIn(await post(url, 'Restore', '{}', { [name!]: value! }));
      assert.deepEqual([status, reason, fields[0]?.field], [400, 'INVALID_REQUEST', name]);
    });
  }

  for (const way of everyWay) {
    it(`aborts the handler's signal and answers DEADLINE_EXCEEDED when it passes: ${way}`, async () => {
      const aborted = Promise.withResolvers<unknown>();
      const client = await rig.clientOf(
        way,
        {
          async restore(_request, context) {
            aborted.resolve(await abortOf(context));
            throw new Error('whatever the handler makes of it');
          },
        },
        { deadline: { defaultMs: 100, maxMs: 1000 } },
      );
      const error = await failureOf(client.restore({}));
      assert.deepEqual([Code[error.code], reasonOf(error)], ['DeadlineExceeded', 'DEADLINE_EXCEEDED']);
      assert.equal(ConnectError.from(await aborted.promise).code, Code.DeadlineExceeded);
    });

    it(`is answered when it passes even if the handler does not look at its signal: ${way}`, async () => {
      const gate = Promise.withResolvers<object>();
      const client = await rig.clientOf(
        way,
        { restore: () => gate.promise, getStock: () => ({}) },
        { deadline: { defaultMs: 100, maxMs: 1000 } },
      );
      const error = await failureOf(client.restore({}));
      assert.deepEqual([Code[error.code], reasonOf(error)], ['DeadlineExceeded', 'DEADLINE_EXCEEDED']);
      gate.resolve({});
      assert.ok(await client.getStock({}), 'the late answer did no harm');
    });
  }

  it("leaves the handler's signal alone until then", async () => {
    let aborted: boolean | undefined;
    const { url } = await rig.serve({ restore: (_request, { signal }) => ((aborted = signal.aborted), {}) });
    await clientOf('Connect binary over HTTP/2', url).restore({}, { timeoutMs: 5000 });
    assert.equal(aborted, false);
  });

  for (const [name, value] of [
    ['connect-timeout-ms', '0'],
    ['grpc-timeout', '0m'],
  ]) {
    it(`starts no handler when it is already over: ${name}: ${value}`, async () => {
      let started = 0;
      const { door, url } = await rig.serve({ restore: () => (started++, {}), getStock: () => (started++, {}) });
      const headers = { [name!]: value! };
      const { status, reason } = await refusalIn(await post(url, 'Restore', '{}', headers));
      assert.deepEqual([status, reason], [504, 'DEADLINE_EXCEEDED']);
      assert.equal((await fetch(`${url}${pathOf('GetStock')}?encoding=json&message={}`, { headers })).status, 504);
      await door.stop(1000);
      assert.equal(started, 0);
    });
  }

  for (const timeoutMs of [50, 0]) {
    it(`counts from the arrival of the header: a body that does not come is not waited for: ${timeoutMs} ms`, async () => {
      const { address, door } = await rig.serve({ restore: () => assert.fail('called') });
      const [host, port] = address.split(':');
      const socket = connect(Number(port), host);
      let text = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      const type = `Content-Type: application/json\r\nConnect-Timeout-Ms: ${timeoutMs}\r\nContent-Length: 100\r\n`;
      socket.write(`POST ${pathOf('Restore')} HTTP/1.1\r\nHost: ${host}\r\n${type}\r\n{`);
      await once(socket, 'end');
      socket.destroy();
      assert.match(text, /^HTTP\/1\.1 504 .*"reason":"DEADLINE_EXCEEDED"/s);
      await door.stop(1000);
    });
  }
});

describe('a call at an HTTP door whose caller hangs up', () => {
  const rig = new HttpRig();
  afterEach(() => rig.close());

  for (const way of everyWay) {
    it(`aborts the handler's signal with CANCELLED, and leaves other calls alone: ${way}`, async () => {
      const arrived = Promise.withResolvers<void>();
      const aborted = Promise.withResolvers<unknown>();
      const gate = Promise.withResolvers<object>();
      const client = await rig.clientOf(way, {
        async deduct(_request, context) {
          arrived.resolve();
          aborted.resolve(await abortOf(context));
          return {};
        },
        restore: () => gate.promise,
      });
      const controller = new AbortController();
      const other = client.restore({});
      const call = failureOf(client.deduct({}, { signal: controller.signal }));
      await arrived.promise;
      controller.abort();
      assert.equal((await call).code, Code.Canceled);
      assert.equal(ConnectError.from(await aborted.promise).code, Code.Canceled);
      gate.resolve({ replayed: true });
      assert.equal((await other).replayed, true);
    });
  }
});
