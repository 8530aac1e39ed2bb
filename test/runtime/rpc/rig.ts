import assert from 'node:assert/strict';
import {
  type Client,
  ConnectError,
  createClient,
  type HandlerContext,
  type ServiceImpl,
  type Transport,
} from '@connectrpc/connect';
import { createGrpcTransport as createForeignTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { Client as GrpcClient, credentials, type ServiceError } from '@grpc/grpc-js';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { GrpcHost, type HostOptions } from '../../../runtime/rpc/host.ts';
import { fromGrpcStatus } from '../../../runtime/rpc/status.ts';
import { createGrpcTransport, type GrpcTransportOptions } from '../../../runtime/rpc/transport.ts';

export type StockImpl = Partial<ServiceImpl<typeof StockService>>;

/** Hosts with tiny implementations on real ports, and clients of them; `close` ends them all. */
export class Rig {
  readonly #ends: (() => unknown)[] = [];

  /** Serves `impl` on a port of its own, or on `address`. */
  async serve(impl: StockImpl, options: Partial<HostOptions> = {}, address = '127.0.0.1:0') {
    const host = new GrpcHost({ interceptors: [], deadline: { defaultMs: 10_000, maxMs: 20_000 }, ...options });
    host.add(StockService, impl);
    this.#ends.push(() => host.stop(0));
    return { host, address: await host.listen(address) };
  }

  transport(target: string, options: Partial<GrpcTransportOptions> = {}) {
    const transport = createGrpcTransport({ target, ...options });
    this.#ends.push(() => transport.close());
    return transport;
  }

  client(target: string, options: Partial<GrpcTransportOptions> = {}): Client<typeof StockService> {
    return createClient(StockService, this.transport(target, options));
  }

  /** A gRPC transport that is not ours, and does streams. */
  foreignTransport(address: string): Transport {
    const baseUrl = `http://${address}`;
    const sessionManager = new Http2SessionManager(baseUrl);
    this.#ends.push(() => sessionManager.abort());
    return createForeignTransport({ baseUrl, sessionManager });
  }

  /** A client of a host that serves `impl`. */
  async clientOf(impl: StockImpl, options: Partial<HostOptions> = {}): Promise<Client<typeof StockService>> {
    return this.client((await this.serve(impl, options)).address);
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
  }
}

/** Sends what need not be a message. Returns the error that answers it. */
export async function sendBytes(address: string, path: string, bytes: Buffer): Promise<ConnectError> {
  const client = new GrpcClient(address, credentials.createInsecure());
  try {
    const same = (buffer: Buffer) => buffer;
    const error = await new Promise<ServiceError | null>((resolve) => {
      client.makeUnaryRequest(path, same, same, bytes, resolve);
    });
    return fromGrpcStatus(error!);
  } finally {
    client.close();
  }
}

/** The ConnectError with which a call fails. */
export async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  const outcome = await call.then(
    () => assert.fail('the call succeeded'),
    (error: unknown) => error,
  );
  assert.ok(outcome instanceof ConnectError, `no ConnectError: ${String(outcome)}`);
  return outcome;
}

/** Asks again until the answer is true; fails after 5 s. Only where nothing can be waited for. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  const giveUpMs = performance.now() + 5000;
  while (!(await holds())) {
    assert.ok(performance.now() < giveUpMs, `never held: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Resolves with the reason when the signal is aborted. */
export function abortOf({ signal }: HandlerContext): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener('abort', () => resolve(signal.reason));
  });
}
