import { MethodOptions_IdempotencyLevel as Idempotency } from '@bufbuild/protobuf/wkt';
import type { Interceptor } from '@connectrpc/connect';
import { requireScope } from '../../runtime/rpc/identity/caller.ts';

/** Server interceptor: what has no side effects needs `stock.read`, everything else `stock.write`. Neither holds the other. */
export const stockScopes: Interceptor = (next) => (request) => {
  const reads = request.method.idempotency === Idempotency.NO_SIDE_EFFECTS;
  requireScope({ values: request.contextValues }, reads ? 'stock.read' : 'stock.write');
  return next(request);
};
