import type { ServiceImpl } from '@connectrpc/connect';
import type { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { wasRolledBack } from '../../runtime/db/sql-errors.ts';
import { GroupCommit } from '../../runtime/group-commit.ts';
import { callLogOf } from '../../runtime/lifecycle/logger.ts';
import { deduct, type Deducted } from '../db/deduct.ts';
import { KnownProducts } from '../db/known-products.ts';
import type { StockDb } from '../db/models.ts';
import { putProducts, readProducts } from '../db/products.ts';
import { receiveStock } from '../db/receive-stock.ts';
import { restore, type Restored } from '../db/restore.ts';
import {
  type Deduction,
  readDeduction,
  readOrderNo,
  readProductIds,
  readProducts as readNewProducts,
  readReceipt,
} from '../domain/read-request.ts';
import { batchDeduct } from './batch-deduct.ts';
import { productNotFound } from '../domain/take.ts';

/** The RPCs of ordersystem.stock.v1.StockService. */
export function stockService(db: StockDb, batchSize: number): ServiceImpl<typeof StockService> {
  const known = new KnownProducts();
  const deducts = new GroupCommit<Deduction, Deducted>({
    run: (deductions) => deduct(db, known, deductions),
    runAlone: wasRolledBack,
    weightOf: ({ quantities }) => quantities.length,
    maxSize: batchSize,
  });
  const restores = new GroupCommit<string, Restored>({
    run: (orderNos) => restore(db, orderNos),
    runAlone: wasRolledBack,
    maxSize: batchSize,
    // Many come at once when many orders have expired: they must not take the connections that new orders need.
    spareLanes: 1,
  });
  return {
    deduct(request, context) {
      const deduction = readDeduction(request);
      callLogOf(context).bind({ order_no: deduction.orderNo });
      return deducts.submit(deduction, context.signal);
    },
    batchDeduct: (request, context) => batchDeduct(deducts, request, context),
    restore(request, context) {
      const orderNo = readOrderNo(request.orderNo);
      callLogOf(context).bind({ order_no: orderNo });
      return restores.submit(orderNo, context.signal);
    },
    async receiveStock(request, context) {
      const receipt = readReceipt(request);
      callLogOf(context).bind({ receipt_no: receipt.receiptNo });
      return { replayed: await receiveStock(db, receipt) };
    },
    async putProducts(request) {
      await putProducts(db, readNewProducts(request.products));
      return {};
    },
    async getStock(request) {
      const ids = readProductIds(request.productIds);
      const products = await readProducts(db, ids);
      const missing = ids.find((id) => !products.has(id));
      if (missing !== undefined) throw productNotFound(missing);
      return { stocks: [...products.values()] };
    },
  };
}
