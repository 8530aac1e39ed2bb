import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import type { HttpLimits } from '../../../runtime/rpc/http/http-server.ts';
import { HttpRig, pathOf } from './http-rig.ts';

const limits: HttpLimits = { headerMs: 200, requestMs: 500, idleMs: 300, maxHeaderBytes: 4096 };
const impatient = { limits, deadline: { defaultMs: 10_000, maxMs: 10_000 } };
const MIB = 1024 * 1024;
const head = `POST ${pathOf('Restore')} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;

describe('an HTTP door with a client that is slow', () => {
  const rig = new HttpRig();
  const clients: (Socket | ClientHttp2Session)[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) client.destroy();
    await rig.close();
  });

  /** A connection, and what comes over it until the door ends it. */
  async function dial(address: string): Promise<{ socket: Socket; ended: Promise<{ text: string; afterMs: number }> }> {
    const [host, port] = address.split(':');
    const socket = connect(Number(port), host);
    clients.push(socket);
    await once(socket, 'connect');
    const startMs = performance.now();
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk))).on('error', () => undefined);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    return { socket, ended: closed.then(() => ({ text, afterMs: performance.now() - startMs })) };
  }

  /** Sends a piece every 50 ms, as long as somebody takes it. */
  function dribble(socket: Socket, piece: string | Buffer): void {
    const timer = setInterval(() => socket.write(piece), 50);
    socket.once('close', () => clearInterval(timer));
  }

  function within(value: number, minMs: number, maxMs: number): void {
    assert.ok(value >= minMs - 50 && value < maxMs, `${value} ms`);
  }

  it('ends a connection that says nothing', async () => {
    const { address } = await rig.serve({}, impatient);
    const { text, afterMs } = await (await dial(address)).ended;
    assert.equal(text, '');
    within(afterMs, limits.headerMs, 5000);
  });

  it('ends a connection whose header comes byte by byte', async () => {
    const { address } = await rig.serve({}, { limits: { ...limits, requestMs: 20_000 } });
    const { socket, ended } = await dial(address);
    socket.write(head);
    dribble(socket, 'a');
    const { text, afterMs } = await ended;
    assert.match(text, /^HTTP\/1\.1 408 /);
    within(afterMs, limits.headerMs, 5000);
  });

  it('ends a connection whose body comes byte by byte', async () => {
    const { address } = await rig.serve({ restore: () => assert.fail('called') }, impatient);
    const { socket, ended } = await dial(address);
    socket.write(`${head}Content-Length: 100000\r\n\r\n`);
    dribble(socket, ' ');
    within((await ended).afterMs, limits.requestMs, 5000);
  });

  it('ends a connection that is kept open for nothing', async () => {
    const { address } = await rig.serve({ restore: () => ({}) }, impatient);
    const { socket, ended } = await dial(address);
    socket.write(`${head}Content-Length: 2\r\n\r\n{}`);
    const { text, afterMs } = await ended;
    assert.match(text, /^HTTP\/1\.1 200 /);
    // node:http itself adds a second.
    within(afterMs, limits.idleMs, 6000);
  });

  it('ends a connection that does not take its answer', async () => {
    const { address } = await rig.serve({ getStock: () => ({ stocks: [{ title: 'x'.repeat(16 * MIB) }] }) }, impatient);
    const { socket, ended } = await dial(address);
    socket.write(`${head.replace('Restore', 'GetStock')}Content-Length: 2\r\n\r\n{}`);
    await once(socket, 'readable');
    socket.pause();
    await new Promise((resolve) => setTimeout(resolve, limits.requestMs + 500));
    socket.resume();
    const { text } = await ended;
    assert.match(text, /^HTTP\/1\.1 200 /);
    assert.ok(text.length < 16 * MIB, `${text.length} bytes`);
  });

  it('ends an HTTP/2 connection without a request, whatever else it sends', async () => {
    const { address } = await rig.serve({}, impatient);
    const { socket, ended } = await dial(address);
    socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0)]));
    dribble(socket, frame(6, 8));
    within((await ended).afterMs, limits.headerMs, 5000);
  });

  it('ends an HTTP/2 connection whose client says that it will send nothing more', async () => {
    const { address } = await rig.serve({}, { limits: { ...limits, headerMs: 10_000, requestMs: 10_000 } });
    const { socket, ended } = await dial(address);
    socket.end(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0)]));
    within((await ended).afterMs, 0, 5000);
  });

  it('ends an HTTP/2 connection between requests, and not while one is in work', async () => {
    const gate = Promise.withResolvers<object>();
    const { url } = await rig.serve({ restore: () => gate.promise }, impatient);
    const session = connectHttp2(url);
    clients.push(session);
    const stream = session.request({
      ':method': 'POST',
      ':path': pathOf('Restore'),
      'content-type': 'application/json',
    });
    stream.end('{}');
    await new Promise((resolve) => setTimeout(resolve, limits.idleMs + 200));
    gate.resolve({});
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    assert.equal(headers[':status'], 200);
    const startMs = performance.now();
    await Promise.all([once(stream.resume(), 'close'), once(session, 'close')]);
    within(performance.now() - startMs, limits.idleMs, 5000);
  });

  it('answers DEADLINE_EXCEEDED on a stream of HTTP/2 that never sends its body, and ends it', async () => {
    const { url } = await rig.serve(
      { restore: () => assert.fail('called') },
      { ...impatient, deadline: { defaultMs: 50, maxMs: 50 } },
    );
    const session = connectHttp2(url);
    clients.push(session);
    const stream = session.request({
      ':method': 'POST',
      ':path': pathOf('Restore'),
      'content-type': 'application/json',
    });
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    assert.equal(headers[':status'], 504);
    await once(stream.resume(), 'close');
  });

  it('resets a stream of HTTP/2 that does not take its answer, and serves the others', async () => {
    const { url } = await rig.serve(
      { getStock: () => ({ stocks: [{ title: 'x'.repeat(1024 * 1024) }] }), restore: () => ({}) },
      impatient,
    );
    const session = connectHttp2(url);
    clients.push(session);
    const stream = session.request({
      ':method': 'POST',
      ':path': pathOf('GetStock'),
      'content-type': 'application/json',
    });
    stream
      .on('error', () => undefined)
      .pause()
      .end('{}');
    await once(stream, 'close');
    assert.notEqual(stream.rstCode, 0);
    const other = session.request({
      ':method': 'POST',
      ':path': pathOf('Restore'),
      'content-type': 'application/json',
    });
    other.end('{}');
    const [headers] = (await once(other, 'response')) as [Record<string, unknown>];
    assert.equal(headers[':status'], 200);
    other.destroy();
  });

  it('refuses a header over its limit, of either version', async () => {
    const { url } = await rig.serve({ restore: () => assert.fail('called') }, impatient);
    const long = { 'x-long': 'x'.repeat(limits.maxHeaderBytes) };
    assert.equal((await fetch(`${url}/healthz`, { headers: long })).status, 431);
    const session = connectHttp2(url);
    clients.push(session);
    const stream = session.request({ ':method': 'POST', ':path': pathOf('Restore'), ...long });
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    assert.equal(headers[':status'], 431);
    assert.equal((await fetch(`${url}/healthz`)).status, 200);
    const generous = await rig.serve({}, { limits: { maxHeaderBytes: 64 * 1024 } });
    const longer = { 'x-long': 'x'.repeat(32 * 1024) };
    assert.equal((await fetch(`${generous.url}/healthz`, { headers: longer })).status, 200);
  });
});

/** An empty frame of HTTP/2: SETTINGS is 4, PING 6 with 8 bytes. */
function frame(type: number, length: number): Buffer {
  const bytes = Buffer.alloc(9 + length);
  bytes[2] = length;
  bytes[3] = type;
  return bytes;
}
