import { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { deadlinesOf } from '../../runtime/rpc/deadline.ts';

/** As the contract says. What is a step of CreateOrder has less time than CreateOrder. */
export const stockDeadlines = deadlinesOf(StockService, {
  deduct: { defaultMs: 3_000, maxMs: 10_000 },
  batchDeduct: { defaultMs: 3_000, maxMs: 10_000 },
  restore: { defaultMs: 3_000, maxMs: 10_000 },
  receiveStock: { defaultMs: 5_000, maxMs: 30_000 },
  putProducts: { defaultMs: 5_000, maxMs: 30_000 },
  getStock: { defaultMs: 2_000, maxMs: 10_000 },
});
