import { type Client, Code, ConnectError } from '@connectrpc/connect';
import type { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import type { LeasedEvent } from '../db/events.ts';
import { AwayError } from './publisher.ts';

const AWAY = new Set([Code.Unavailable, Code.DeadlineExceeded, Code.ResourceExhausted]);

/** Does what a STOCK_RESTORE asks for. @throws AwayError when stock-svc could not be asked. */
export async function restoreStock(stock: Client<typeof StockService>, event: LeasedEvent, timeoutMs: number) {
  try {
    await stock.restore({ orderNo: event.orderNo }, { timeoutMs });
  } catch (cause) {
    if (AWAY.has(ConnectError.from(cause).code)) throw new AwayError('stock-svc is away', { cause });
    throw cause;
  }
}
