import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { build } from 'esbuild';
import { OrderService } from 'ordersystem-cloud/contract';
import { connectOrderService, connectStockService } from 'ordersystem-cloud/grpc';
import { forwardOrders } from './forward-orders.ts';
import { Sessions } from './session.ts';

export interface GatewayOptions {
  /** `host:port`; port 0 for a free one. */
  listen: string;
  /** Where the services are: grpc-js targets. */
  orderAddress: string;
  stockAddress: string;
  /** What the shop sells. */
  productIds: readonly bigint[];
}

/** A shop's gateway: serves its page, knows its users by a cookie, and hands on their orders under their names. */
export async function startGateway(options: GatewayOptions): Promise<{ address: string; stop: () => Promise<void> }> {
  const orders = connectOrderService(options.orderAddress);
  const stock = connectStockService(options.stockAddress);
  const sessions = new Sessions(process.env['SESSION_SECRET']);
  const [html, css, script] = await Promise.all([readPage('index.html'), readPage('page.css'), bundlePage()]);

  const products = async () => {
    const { stocks } = await stock.client.getStock({ productIds: [...options.productIds] });
    return JSON.stringify(stocks, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  };
  const files = new Map<string | undefined, { type: string; content: string | (() => Promise<string>) }>([
    ['/', { type: 'text/html', content: html }],
    ['/ordered', { type: 'text/html', content: html }],
    ['/page.css', { type: 'text/css', content: css }],
    ['/page.js', { type: 'text/javascript', content: script }],
    ['/products', { type: 'application/json', content: products }],
  ]);

  const api = connectNodeAdapter({
    requestPathPrefix: '/api',
    readMaxBytes: 64 * 1024,
    routes: (router) => void router.service(OrderService, forwardOrders(orders.client, sessions)),
  });
  async function serveFile(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const file = files.get(request.url);
    if (!file) return void response.writeHead(404).end();
    const content = typeof file.content === 'string' ? file.content : await file.content();
    const newcomer = file.type === 'text/html' && !sessions.userOf(request.headers.cookie);
    if (newcomer) response.setHeader('set-cookie', sessions.start());
    response.setHeader('content-security-policy', "default-src 'self'; img-src data:");
    response.setHeader('cache-control', 'no-cache');
    response.writeHead(200, { 'content-type': `${file.type}; charset=utf-8` }).end(content);
  }
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/api/')) api(request, response);
    else serveFile(request, response).catch(() => response.writeHead(503).end());
  });
  const [, host, port] = /^(.+):(\d+)$/.exec(options.listen)!;
  await new Promise<void>((resolve) => server.listen(Number(port), host, resolve));
  return {
    address: `${host}:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      orders.close();
      stock.close();
    },
  };
}

function readPage(file: string): Promise<string> {
  return readFile(new URL(`page/${file}`, import.meta.url), 'utf8');
}

async function bundlePage(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [new URL('page/page.ts', import.meta.url).pathname],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
  });
  return outputFiles[0]!.text;
}
