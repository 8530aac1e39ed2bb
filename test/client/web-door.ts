import type { ServiceImpl } from '@connectrpc/connect';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { HttpDoor } from '../../runtime/rpc/http-door.ts';

/** Serves an OrderService to browsers' clients on a port of its own. */
export async function openWebDoor(impl: Partial<ServiceImpl<typeof OrderService>>) {
  const door = new HttpDoor({ interceptors: [], deadline: { defaultMs: 60_000, maxMs: 60_000 } });
  door.add(OrderService, impl);
  const address = await door.listen('127.0.0.1:0');
  return { baseUrl: `http://${address}`, close: () => door.stop(0) };
}
