import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ServiceImpl } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';

/** Serves an OrderService to browsers' clients on a port of its own. `seen` gets the headers of each request. */
export async function openWebDoor(impl: Partial<ServiceImpl<typeof OrderService>>, seen: IncomingHttpHeaders[] = []) {
  const handle = connectNodeAdapter({ routes: (router) => void router.service(OrderService, impl) });
  const server = createServer((request, response) => {
    seen.push(request.headers);
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { address, baseUrl: `http://${address}`, close };
}
