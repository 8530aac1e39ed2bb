import assert from 'node:assert/strict';
import { fromBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { Metadata } from '@grpc/grpc-js';
import { RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';
import { commonError, reasonOf } from '../../../runtime/rpc/errors.ts';
import { fromGrpcStatus, toGrpcStatus } from '../../../runtime/rpc/status.ts';

function received(status: ReturnType<typeof toGrpcStatus>): ConnectError {
  return fromGrpcStatus(Object.assign<Error, typeof status>(new Error(status.details), status));
}

describe('toGrpcStatus', () => {
  it('has the same number for every code as gRPC has', () => {
    for (const code of Object.values(Code).filter((value) => typeof value === 'number')) {
      assert.equal(toGrpcStatus(new ConnectError('x', code)).code, code);
    }
  });

  it('says the message without the code in front, and packs the details as google.rpc.Status', () => {
    const { details, metadata } = toGrpcStatus(commonError('SERVICE_UNAVAILABLE', 'away'));
    assert.equal(details, 'away');
    const status = fromBinary(StatusSchema, metadata.get('grpc-status-details-bin')[0] as Buffer);
    assert.deepEqual([status.code, status.message], [Code.Unavailable, 'away']);
    assert.deepEqual(
      status.details.map(({ typeUrl }) => typeUrl),
      ['type.googleapis.com/google.rpc.ErrorInfo', 'type.googleapis.com/google.rpc.RetryInfo'],
    );
  });

  it('has no details header when there are none', () => {
    assert.deepEqual(toGrpcStatus(new ConnectError('x', Code.NotFound)).metadata.getMap(), {});
  });

  it('passes on the details of an error that was received, and none of its headers', () => {
    const first = toGrpcStatus(commonError('SERVICE_UNAVAILABLE', 'away'));
    first.metadata.set('x-secret', 'of the server behind');
    const second = toGrpcStatus(received(first));
    assert.deepEqual(Object.keys(second.metadata.getMap()), ['grpc-status-details-bin']);
    assert.equal(reasonOf(received(second)), 'SERVICE_UNAVAILABLE');
    assert.equal(received(second).findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds, 1n);
  });
});

describe('fromGrpcStatus', () => {
  it('keeps code, message and trailers, and the status as the cause', () => {
    const status = toGrpcStatus(new ConnectError('gone', Code.NotFound, { 'x-shard': '3' }));
    const error = received(status);
    assert.deepEqual([error.code, error.rawMessage, error.metadata.get('x-shard')], [Code.NotFound, 'gone', '3']);
    assert.equal((error.cause as Error).message, 'gone');
  });

  it('takes a code that gRPC does not have for UNKNOWN', () => {
    assert.equal(received({ code: 99 as number, details: '', metadata: new Metadata() }).code, Code.Unknown);
  });

  it('is still that error when its details cannot be read', () => {
    const metadata = new Metadata();
    metadata.set('grpc-status-details-bin', Buffer.from([0x1a, 0x7f]));
    const error = received({ code: Code.Aborted as number, details: 'busy', metadata });
    assert.deepEqual([error.code, error.rawMessage, error.details], [Code.Aborted, 'busy', []]);
  });
});
