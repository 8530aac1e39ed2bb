import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { CONTINUATION, END_HEADERS, END_STREAM, headerBlock, HEADERS, RawHttp2, RST_STREAM } from './raw-http2.ts';
import { doors, useVictim } from './victim.ts';

const path = '/ordersystem.order.v1.OrderService/CreateOrder';
const start = { ':method': 'POST', ':scheme': 'http', ':path': path, ':authority': 'x' };
const types = { gRPC: 'application/grpc', HTTP: 'application/proto' };

describe('order-svc under a flood', function () {
  this.timeout(60_000);
  const victim = useVictim();
  for (const door of doors) {
    const block = headerBlock({ ...start, 'content-type': types[door], te: 'trailers', 'x-user-id': '1' });

    it(`of streams that are reset at once: ${door}`, () =>
      victim.endure(async () => {
        const raw = await RawHttp2.dial(victim.addresses[door]);
        let id = 1;
        for (; id < 200_000 && !raw.socket.destroyed; id += 2) {
          await raw.send(HEADERS, END_HEADERS, id, block);
          await raw.send(RST_STREAM, 0, id, Buffer.of(0, 0, 0, 8));
        }
        if (process.env['WIRE_FIGURES']) console.log({ door, resets: id / 2 });
        assert.ok(id < 200_000, 'it was never cut off');
      }));

    it(`of CONTINUATION that does not end: ${door}`, () =>
      victim.endure(async () => {
        const raw = await RawHttp2.dial(victim.addresses[door]);
        await raw.send(HEADERS, END_STREAM, 1, block);
        for (let i = 0; i < 10_000 && !raw.socket.destroyed; i++) {
          await raw.send(CONTINUATION, 0, 1, headerBlock({ [`x-${i}`]: 'y'.repeat(1000) }));
        }
        await raw.closed;
      }));

    it(`of headers, many or huge, call after call: ${door}`, () =>
      victim.endure(async () => {
        const many = Object.fromEntries(Array.from({ length: 120 }, (_, i) => [`x-${i}`, 'y'.repeat(400)]));
        for (const headers of [many, { 'x-huge': 'y'.repeat(60_000) }]) {
          const session = connectHttp2(`http://${victim.addresses[door]}`).on('error', () => undefined);
          for (let i = 0; i < 30 && !session.destroyed; i++) {
            const request = { ...start, 'content-type': types[door], te: 'trailers', 'x-user-id': '1', ...headers };
            const stream = session.request(request, { endStream: true }).on('error', () => undefined);
            await once(stream.resume(), 'close');
          }
          session.destroy();
        }
      }));

    it(`of streams that never send: ${door}`, () =>
      victim.endure(async () => {
        const sessions = await Promise.all(Array.from({ length: 4 }, () => RawHttp2.dial(victim.addresses[door])));
        for (const raw of sessions) {
          for (let id = 1; id < 2_000; id += 2) await raw.send(HEADERS, END_HEADERS, id, block);
        }
        await new Promise((resolve) => setTimeout(resolve, 200));
        for (const raw of sessions) raw.socket.destroy();
        await Promise.all(sessions.map(({ closed }) => closed));
      }));

    it(`of connections that say nothing: ${door}`, () =>
      victim.endure(async () => {
        const [host, port] = victim.addresses[door].split(':');
        const sockets: Socket[] = [];
        const count = Number(process.env['WIRE_CONNECTIONS'] ?? 1000);
        while (sockets.length < count) {
          const some = Array.from({ length: 100 }, () => connect(Number(port), host).on('error', () => undefined));
          await Promise.all(some.map((socket) => once(socket, 'connect')));
          sockets.push(...some);
        }
        if (process.env['WIRE_FIGURES']) console.log({ door, open: sockets.length, mib: await victim.rssMib() });
        for (const socket of sockets) socket.destroy();
      }));
  }
});
