import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import {
  abortedError,
  commonError,
  errorInfoOf,
  errorsOf,
  reasonOf,
  receivedError,
} from '../../../runtime/rpc/errors.ts';
import { toGrpcStatus } from '../../../runtime/rpc/status.ts';

const errorOf = errorsOf({
  SOLD_OUT: { code: Code.FailedPrecondition, retry: 'new_key' },
  BUSY: { code: Code.Aborted, retry: 'same_key', retryDelayMs: 2050 },
});

describe('errorsOf', () => {
  it('makes an error with the code, the message and the ErrorInfo of its reason', () => {
    const error = errorOf('SOLD_OUT', 'nothing left', { metadata: { product_id: '7' } });
    assert.deepEqual([error.code, error.rawMessage], [Code.FailedPrecondition, 'nothing left']);
    const infos = error.findDetails(ErrorInfoSchema);
    assert.deepEqual(
      infos.map(({ reason, domain, metadata }) => ({ reason, domain, metadata: { ...metadata } })),
      [{ reason: 'SOLD_OUT', domain: 'ordersystem', metadata: { product_id: '7', retry: 'new_key' } }],
    );
  });

  it("does not let metadata change the catalogue's advice", () => {
    const error = errorOf('SOLD_OUT', '', { metadata: { retry: 'same_key' } });
    assert.equal(errorInfoOf(error)?.metadata['retry'], 'new_key');
  });

  it('adds RetryInfo with seconds and nanoseconds where the catalogue has a delay, and only there', () => {
    const delay = errorOf('BUSY', '').findDetails(RetryInfoSchema)[0]?.retryDelay;
    assert.deepEqual([delay?.seconds, delay?.nanos], [2n, 50_000_000]);
    assert.deepEqual(errorOf('SOLD_OUT', '').findDetails(RetryInfoSchema), []);
  });

  it('adds BadRequest with each wrong field, and only when there are any', () => {
    const fieldViolations = [
      { field: 'a', description: 'is missing' },
      { field: 'b[1]', description: 'is too large' },
    ];
    const found = errorOf('SOLD_OUT', '', { fieldViolations }).findDetails(BadRequestSchema)[0]?.fieldViolations;
    assert.deepEqual(
      found?.map(({ field, description }) => ({ field, description })),
      fieldViolations,
    );
    assert.deepEqual(errorOf('SOLD_OUT', '').findDetails(BadRequestSchema), []);
  });

  it('keeps the cause, and sends nothing of it', () => {
    const cause = new Error('the secret');
    const error = errorOf('BUSY', 'busy', { cause });
    assert.equal(error.cause, cause);
    const { details, metadata } = toGrpcStatus(error);
    assert.doesNotMatch(details + String(metadata.get('grpc-status-details-bin')), /secret/);
  });
});

describe('receivedError', () => {
  it('is the error that another service has put in its answer', () => {
    const metadata = { product_id: '7', retry: 'new_key' };
    const error = receivedError({ code: 9, reason: 'SOLD_OUT', message: 'nothing left', metadata });
    assert.deepEqual([error.code, error.rawMessage], [Code.FailedPrecondition, 'nothing left']);
    assert.deepEqual([reasonOf(error), { ...errorInfoOf(error)?.metadata }], ['SOLD_OUT', metadata]);
    assert.equal(receivedError({ code: 99, reason: '', message: '', metadata: {} }).code, Code.Unknown);
  });
});

describe('reasonOf', () => {
  it('finds the reason of this system beside details of others', () => {
    const error = errorOf('BUSY', '');
    error.details.unshift({ desc: ErrorInfoSchema, value: { reason: 'QUOTA', domain: 'googleapis.com' } });
    assert.equal(reasonOf(error), 'BUSY');
  });

  it('has none for any other error', () => {
    const foreign = new ConnectError('', Code.Aborted);
    foreign.details = [{ desc: ErrorInfoSchema, value: { reason: 'QUOTA', domain: 'googleapis.com' } }];
    for (const error of [foreign, new ConnectError('BUSY'), new Error('BUSY'), undefined, null, 'BUSY']) {
      assert.equal(reasonOf(error), undefined);
    }
  });
});

describe('abortedError', () => {
  it('is CANCELLED when the caller hung up, else DEADLINE_EXCEEDED', () => {
    const aborted = (reason?: unknown) => reasonOf(abortedError(AbortSignal.abort(reason)));
    assert.equal(aborted(new ConnectError('', Code.Canceled)), 'CANCELLED');
    assert.equal(aborted(new ConnectError('', Code.DeadlineExceeded)), 'DEADLINE_EXCEEDED');
    assert.equal(aborted(), 'DEADLINE_EXCEEDED');
  });
});

describe('commonError', () => {
  it('says what a repeat can do for each reason that every service has', () => {
    const reasons = ['INVALID_REQUEST', 'SERVICE_UNAVAILABLE', 'DEADLINE_EXCEEDED', 'CANCELLED', 'INTERNAL'] as const;
    assert.deepEqual(
      reasons.map((name) => [Code[commonError(name, '').code], errorInfoOf(commonError(name, ''))?.metadata['retry']]),
      [
        ['InvalidArgument', 'never'],
        ['Unavailable', 'same_key'],
        ['DeadlineExceeded', 'same_key'],
        ['Canceled', 'same_key'],
        ['Internal', 'same_key'],
      ],
    );
  });
});
