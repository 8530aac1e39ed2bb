import { Code } from '@connectrpc/connect';
import { type Catalogue, commonReasons, errorsOf } from '../../runtime/rpc/errors.ts';

/** Every error that stock-svc sends. */
export const stockReasons = {
  ...commonReasons,
  PRODUCT_NOT_FOUND: { code: Code.NotFound, retry: 'new_key' },
  INSUFFICIENT_STOCK: { code: Code.FailedPrecondition, retry: 'new_key' },
  PRICE_CHANGED: { code: Code.FailedPrecondition, retry: 'new_key' },
  TOTAL_TOO_LARGE: { code: Code.InvalidArgument, retry: 'new_key' },
  ORDER_NO_REUSED: { code: Code.InvalidArgument, retry: 'new_key' },
  ORDER_CLOSED: { code: Code.Aborted, retry: 'new_key' },
  RECEIPT_NO_REUSED: { code: Code.InvalidArgument, retry: 'new_key' },
} as const satisfies Catalogue;

export const stockError = errorsOf(stockReasons);
