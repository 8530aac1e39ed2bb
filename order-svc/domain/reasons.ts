import { Code } from '@connectrpc/connect';
import { type Catalogue, commonReasons, errorsOf } from '../../runtime/rpc/errors.ts';

/** Every error that order-svc sends. The first four of its own are stock-svc's, passed on. */
export const orderReasons = {
  ...commonReasons,
  PRODUCT_NOT_FOUND: { code: Code.NotFound, retry: 'new_key' },
  INSUFFICIENT_STOCK: { code: Code.FailedPrecondition, retry: 'new_key' },
  PRICE_CHANGED: { code: Code.FailedPrecondition, retry: 'new_key' },
  TOTAL_TOO_LARGE: { code: Code.InvalidArgument, retry: 'new_key' },
  CLIENT_REQUEST_ID_CONFLICT: { code: Code.InvalidArgument, retry: 'new_key' },
  ORDER_NOT_FOUND: { code: Code.NotFound, retry: 'never' },
  ORDER_ALREADY_PAID: { code: Code.FailedPrecondition, retry: 'never' },
  ORDER_NOT_PAYABLE: { code: Code.FailedPrecondition, retry: 'never' },
  ORDER_NOT_CANCELLABLE: { code: Code.FailedPrecondition, retry: 'never' },
  AMOUNT_MISMATCH: { code: Code.FailedPrecondition, retry: 'never' },
  PAYMENT_NO_REUSED: { code: Code.InvalidArgument, retry: 'new_key' },
  REQUEST_IN_PROGRESS: { code: Code.Aborted, retry: 'same_key', retryDelayMs: 500 },
  ATTEMPT_EXPIRED: { code: Code.Aborted, retry: 'same_key', retryDelayMs: 100 },
} as const satisfies Catalogue;

export const orderError = errorsOf(orderReasons);
