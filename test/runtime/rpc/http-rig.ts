import { type Client, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-node';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { HttpDoor, type HttpDoorOptions } from '../../../runtime/rpc/http-door.ts';
import type { StockImpl } from './rig.ts';

/** Every way to call an HTTP door. */
export const ways = {
  'Connect JSON over HTTP/1.1': (baseUrl) =>
    createConnectTransport({ baseUrl, httpVersion: '1.1', useBinaryFormat: false }),
  'Connect binary over HTTP/2': (baseUrl) => createConnectTransport({ baseUrl, httpVersion: '2' }),
  'gRPC-Web over HTTP/1.1': (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }),
  'gRPC-Web JSON over HTTP/2': (baseUrl) =>
    createGrpcWebTransport({ baseUrl, httpVersion: '2', useBinaryFormat: false }),
} satisfies Record<string, (baseUrl: string) => Transport>;

export type Way = keyof typeof ways;
export const everyWay = Object.keys(ways) as Way[];

/** The path of a method of StockService. */
export const pathOf = (method: string) => `/${StockService.typeName}/${method}`;

/** Doors with tiny implementations on real ports; `close` ends them all. */
export class HttpRig {
  readonly #ends: (() => unknown)[] = [];

  /** Serves `impl` on a port of its own, or on `address`. Gives it 10 s a call. */
  async serve(impl: StockImpl, options: Partial<HttpDoorOptions> = {}, address = '127.0.0.1:0') {
    const door = new HttpDoor({ interceptors: [], deadline: { defaultMs: 10_000, maxMs: 20_000 }, ...options });
    door.add(StockService, impl);
    this.#ends.push(() => door.stop(0));
    const bound = await door.listen(address);
    return { door, address: bound, url: `${options.tls ? 'https' : 'http'}://${bound}` };
  }

  /** A client of a door that serves `impl`. */
  async clientOf(
    way: Way,
    impl: StockImpl,
    options: Partial<HttpDoorOptions> = {},
  ): Promise<Client<typeof StockService>> {
    return clientOf(way, (await this.serve(impl, options)).url);
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
  }
}

export function clientOf(way: Way, url: string): Client<typeof StockService> {
  return createClient(StockService, ways[way](url));
}

/** Posts to a method as a hand-written client would. */
export function post(url: string, method: string, body: RequestInit['body'], headers: Record<string, string> = {}) {
  const all = { 'content-type': 'application/json', ...headers };
  return fetch(url + pathOf(method), { method: 'POST', body, headers: all, duplex: 'half' });
}

/** What a refused Connect call tells: HTTP status, code, reason, wrong fields. */
export async function refusalIn(response: Response) {
  const { code, message, details } = (await response.json()) as {
    code: string;
    message: string;
    details?: {
      type: string;
      debug: { reason?: string; fieldViolations?: { field: string; description: string }[] };
    }[];
  };
  const debug = details?.map((detail) => detail.debug) ?? [];
  return {
    status: response.status,
    code,
    message,
    reason: debug.find(({ reason }) => reason)?.reason,
    fields: debug.flatMap(({ fieldViolations = [] }) => fieldViolations),
  };
}
