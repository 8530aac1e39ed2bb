import { ConnectError, type ServiceImpl } from '@connectrpc/connect';
import type { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { bindLog } from '../../runtime/lifecycle/logger.ts';
import { deduct } from '../db/deduct.ts';
import type { StockDb } from '../db/models.ts';
import { putProducts, readProducts } from '../db/products.ts';
import { receiveStock } from '../db/receive-stock.ts';
import { restore } from '../db/restore.ts';
import {
  readDeduction,
  readOrderNo,
  readProductIds,
  readProducts as readNewProducts,
  readReceipt,
} from '../domain/read-request.ts';
import { productNotFound } from '../domain/take.ts';

/** The RPCs of ordersystem.stock.v1.StockService. */
export function stockService(db: StockDb): ServiceImpl<typeof StockService> {
  return {
    async deduct(request, context) {
      const deduction = readDeduction(request);
      bindLog(context, { order_no: deduction.orderNo });
      const [result] = await deduct(db, [deduction]);
      if (result instanceof ConnectError) throw result;
      return result!;
    },
    restore(request, context) {
      const orderNo = readOrderNo(request.orderNo);
      bindLog(context, { order_no: orderNo });
      return restore(db, orderNo);
    },
    async receiveStock(request, context) {
      const receipt = readReceipt(request);
      bindLog(context, { receipt_no: receipt.receiptNo });
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
