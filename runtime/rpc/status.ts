import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { anyPack } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { Metadata, type ServiceError, type StatusObject } from '@grpc/grpc-js';
import { StatusSchema } from '../../gen/google/rpc/status_pb.ts';
import { commonError } from './errors.ts';
import { toHeaders, toMetadata } from './metadata.ts';

// https://grpc.io/docs/guides/error/#richer-error-model
const DETAILS_KEY = 'grpc-status-details-bin';
const TYPE_PREFIX = 'type.googleapis.com/';

const prepared = new WeakMap<ConnectError, StatusObject>();

/** Works out once what is sent for an error that is thrown again and again. It must not be changed afterwards. */
export function prepareStatus(error: ConnectError): ConnectError {
  prepared.set(error, toGrpcStatus(error));
  return error;
}

/** A Connect error as the status that grpc-js sends, with its details in `grpc-status-details-bin`. */
export function toGrpcStatus(error: ConnectError): StatusObject {
  const status = prepared.get(error);
  if (status) return status;
  const metadata = error.isWireError ? new Metadata() : toMetadata(error.metadata);
  // Half a surrogate pair has no UTF-8, and grpc-js throws on it.
  const message = error.rawMessage.toWellFormed();
  if (error.details.length > 0) {
    const status = create(StatusSchema, {
      code: error.code,
      message,
      details: error.details.map((detail) =>
        'desc' in detail
          ? anyPack(detail.desc, create(detail.desc, detail.value))
          : { typeUrl: TYPE_PREFIX + detail.type, value: detail.value },
      ),
    });
    metadata.set(DETAILS_KEY, Buffer.from(toBinary(StatusSchema, status)));
  }
  return { code: error.code as number, details: message, metadata };
}

/** What was thrown, as an error that may be sent. */
export function safeError(error: unknown): ConnectError {
  return error instanceof ConnectError ? error : commonError('INTERNAL', 'internal error', { cause: error });
}

/** `toGrpcStatus`, or INTERNAL when the error holds what cannot be sent. */
export function safeStatus(error: ConnectError): StatusObject {
  try {
    return toGrpcStatus(error);
  } catch (cause) {
    return toGrpcStatus(commonError('INTERNAL', 'internal error', { cause }));
  }
}

/** The status that grpc-js received, or made itself, as a Connect error. */
export function fromGrpcStatus(status: ServiceError): ConnectError {
  const code = status.code in Code ? (status.code as number as Code) : Code.Unknown;
  const error = new ConnectError(status.details, code, toHeaders(status.metadata), undefined, status);
  error.isWireError = true;
  const [bytes] = status.metadata.get(DETAILS_KEY);
  if (bytes instanceof Uint8Array) error.details = detailsIn(bytes);
  return error;
}

function detailsIn(bytes: Uint8Array): ConnectError['details'] {
  try {
    return fromBinary(StatusSchema, bytes).details.map((any) => ({
      type: any.typeUrl.slice(any.typeUrl.lastIndexOf('/') + 1),
      value: any.value,
    }));
  } catch {
    // Details are an extra: an error whose details cannot be read is still that error.
    return [];
  }
}
