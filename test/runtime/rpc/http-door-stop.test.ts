import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request as askHttp1 } from 'node:http';
import { connect } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { Code, type ConnectError } from '@connectrpc/connect';
import { HttpDoor } from '../../../runtime/rpc/http-door.ts';
import { clientOf, everyWay, HttpRig, pathOf } from './http-rig.ts';
import { failureOf, type StockImpl } from './rig.ts';

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

describe('HttpDoor.stop', () => {
  const rig = new HttpRig();
  afterEach(() => rig.close());

  for (const way of everyWay) {
    it(`waits for a call in work, which is answered, and takes no new one: ${way}`, async () => {
      const { impl, arrived, open, log } = gated();
      const { door, url } = await rig.serve(impl);
      const client = clientOf(way, url);
      const call = client.restore({});
      await arrived;
      const stopped = door.stop(10_000).then(() => log.push('stopped'));
      const refused = await failureOf(clientOf(way, url).getStock({}));
      assert.equal(Code[refused.code], 'Unavailable');
      open();
      assert.equal((await call).replayed, true);
      await stopped;
      assert.deepEqual(
        log.filter((line) => line !== 'told'),
        ['handler ended', 'stopped'],
      );
    });

    it(`cuts off what is not over after its grace, and tells the handler: ${way}`, async () => {
      const { impl, arrived, open, log } = gated();
      const { door, url } = await rig.serve(impl);
      const call = failureOf(clientOf(way, url).restore({}));
      await arrived;
      const stopped = door.stop(20).then(() => log.push('stopped'));
      assert.ok(isLost(await call));
      await time();
      assert.deepEqual(log, ['told']);
      open();
      await stopped;
      assert.deepEqual(log, ['told', 'handler ended', 'stopped']);
    });
  }

  it('waits for a handler that goes on after the deadline of its call', async () => {
    const { impl, arrived, open, log } = gated();
    const { door, url } = await rig.serve(impl, { deadline: { defaultMs: 20, maxMs: 1000 } });
    const call = failureOf(clientOf('Connect JSON over HTTP/1.1', url).restore({}));
    await arrived;
    assert.equal((await call).code, Code.DeadlineExceeded);
    const stopped = door.stop(0).then(() => log.push('stopped'));
    await time();
    assert.deepEqual(log, ['told']);
    open();
    await stopped;
    assert.deepEqual(log, ['told', 'handler ended', 'stopped']);
  });

  it('closes connections that are kept open, of either version, long before its grace', async () => {
    const { impl } = gated();
    const { door, url } = await rig.serve(impl);
    const agent = new Agent({ keepAlive: true });
    await (await ask(agent, url)).toArray();
    const session = connect(url);
    await once(session.request({ ':path': '/healthz' }).resume(), 'end');
    const silent = connect(url);
    await once(silent, 'connect');
    const closed = Promise.all([once(session, 'close'), once(silent, 'close')]);
    const startMs = performance.now();
    await door.stop(60_000);
    assert.ok(performance.now() - startMs < 5000);
    await closed;
    assert.deepEqual(Object.keys(agent.freeSockets), []);
    agent.destroy();
  });

  it('says on a connection that it ends with the answer, and serves nothing that comes behind', async () => {
    const { impl, arrived, open } = gated();
    let called = false;
    const { door, address } = await rig.serve({ ...impl, getStock: () => ((called = true), {}) });
    const [host, port] = address.split(':');
    const socket = connectTcp(Number(port), host);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    const send = (method: string) =>
      socket.write(
        `POST ${pathOf(method)} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
      );
    send('Restore');
    await arrived;
    const stopped = door.stop(10_000);
    send('GetStock');
    await time();
    open();
    await once(socket, 'end');
    socket.destroy();
    await stopped;
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n(.*\r\n)*connection: close\r\n/i);
    assert.equal(called, false);
  });

  it('closes a connection whose last answer was on its way when it was told to', async () => {
    const title = 'x'.repeat(16 * 1024 * 1024);
    const { door, address } = await rig.serve({ getStock: () => ({ stocks: [{ title }] }) });
    const [host, port] = address.split(':');
    const socket = connectTcp(Number(port), host);
    socket.write(`GET ${pathOf('GetStock')}?encoding=json&message={} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await once(socket, 'readable');
    const startMs = performance.now();
    const stopped = door.stop(60_000);
    const closed = once(socket.resume(), 'close');
    await stopped;
    assert.ok(performance.now() - startMs < 10_000);
    await closed;
    assert.ok(socket.bytesRead > title.length);
  });

  it('may be called on a door that never listened, and again', async () => {
    const { door } = await rig.serve({ getStock: () => ({}) });
    await Promise.all([door.stop(1000), door.stop(1000)]);
    await door.stop(1000);
    await new HttpDoor({ interceptors: [], deadline: { defaultMs: 1, maxMs: 1 } }).stop(1000);
  });
});

async function ask(agent: Agent, url: string): Promise<IncomingMessage> {
  const [response] = (await once(askHttp1(`${url}/healthz`, { agent }).end(), 'response')) as [IncomingMessage];
  return response;
}

/** Time in which a stop that does not wait would end, and a request arrive. */
function time(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}

/** The caller cannot know whether the call had its effect. */
function isLost({ code }: ConnectError): boolean {
  return [Code.Unavailable, Code.Canceled, Code.Internal, Code.Aborted, Code.Unknown].includes(code);
}
