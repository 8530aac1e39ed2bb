import type { MessageInitShape } from '@bufbuild/protobuf';
import type { HandlerContext } from '@connectrpc/connect';
import type {
  BatchDeductRequest,
  BatchDeductResponseSchema,
  BatchDeductResultSchema,
  DeductRequest,
} from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import type { GroupCommit } from '../../runtime/group-commit.ts';
import { callLogOf } from '../../runtime/lifecycle/logger.ts';
import { errorInfoOf } from '../../runtime/rpc/errors.ts';
import { FieldViolations } from '../../runtime/rpc/field-violations.ts';
import { toRpcError } from '../../runtime/rpc/to-rpc-error.ts';
import type { Deducted } from '../db/deduct.ts';
import { type Deduction, readDeduction } from '../domain/read-request.ts';

const MAX_DEDUCTIONS = 256;

/** Many Deducts in one call. When the database was away for any of them the whole call fails: its repeat makes it whole. */
export async function batchDeduct(
  deducts: GroupCommit<Deduction, Deducted>,
  request: BatchDeductRequest,
  context: HandlerContext,
): Promise<MessageInitShape<typeof BatchDeductResponseSchema>> {
  const violations = new FieldViolations();
  violations.count('deductions', request.deductions, 1, MAX_DEDUCTIONS);
  violations.throwIfAny();
  callLogOf(context).bind({ order_nos: request.deductions.map((one) => one.orderNo.slice(0, 32)) });

  const answer = async (one: DeductRequest): Promise<MessageInitShape<typeof BatchDeductResultSchema>> => {
    try {
      const value = await deducts.submit(readDeduction(one), context.signal);
      return { result: { case: 'deducted', value } };
    } catch (reason) {
      const error = toRpcError(reason, context.signal);
      const info = errorInfoOf(error)!;
      if (info.reason === 'SERVICE_UNAVAILABLE') throw error;
      const { code, rawMessage: message } = error;
      return { result: { case: 'failure', value: { code, message, reason: info.reason, metadata: info.metadata } } };
    }
  };
  return { results: await Promise.all(request.deductions.map(answer)) };
}
