import { fromBinary, toBinary, type DescMessage } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type Interceptor,
  type Transport,
  type UnaryRequest,
  type UnaryResponse,
} from '@connectrpc/connect';
import { type ChannelCredentials, Client, credentials, type Metadata, type StatusObject } from '@grpc/grpc-js';
import { clientConnections, type ConnectionOptions } from './connections.ts';
import { timeoutOf } from './deadline.ts';
import { toHeaders, toMetadata } from './metadata.ts';
import { fromGrpcStatus } from './status.ts';
import { unaryTransport } from './unary-transport.ts';

/** Where a transport connects to, and how. */
export interface GrpcTransportOptions extends Pick<ConnectionOptions, 'keepaliveMs'> {
  /** A grpc-js target: `127.0.0.1:50052`, or `dns:///stock-svc:50052`, whose addresses are used in turn. */
  target: string;
  /** Outermost first. Default: none. */
  interceptors?: Interceptor[];
  /** Default: plain text. */
  credentials?: ChannelCredentials;
  /** Longest answer that is taken, in bytes. Default 4 MiB. */
  maxMessageBytes?: number;
}

/**
 * A Connect Transport whose connections, name resolution and load balancing are a grpc-js channel's. Unary methods only.
 *
 * Errors are ConnectError: the server's with its details, or grpc-js's own (UNAVAILABLE when there is no connection,
 * DEADLINE_EXCEEDED, CANCELLED when the signal is aborted).
 */
export function createGrpcTransport(options: GrpcTransportOptions): Transport & { close: () => void } {
  const client = new Client(options.target, options.credentials ?? credentials.createInsecure(), {
    'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
    // With no retry policy in it grpc-js repeats just what a server has certainly not looked at: refused by a GOAWAY, or never sent.
    'grpc.service_config_disable_resolution': 1,
    'grpc.max_receive_message_length': options.maxMessageBytes ?? 4 * 1024 * 1024,
    // A server that comes back is found within a second, not after grpc-js's default of up to two minutes.
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 1000,
    ...clientConnections(options),
  });
  const transport = unaryTransport(options.interceptors ?? [], (request) =>
    // grpc-js throws on a header that cannot be sent, and after close().
    callOnce(client, request).catch((reason: unknown) => Promise.reject(ConnectError.from(reason, Code.Internal))),
  );
  return { ...transport, close: () => client.close() };
}

function callOnce<I extends DescMessage, O extends DescMessage>(
  client: Client,
  request: UnaryRequest<I, O>,
): Promise<UnaryResponse<I, O>> {
  const { method, message, signal } = request;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(new ConnectError('cancelled before it was sent', Code.Canceled, undefined, undefined, signal.reason));
      return;
    }
    const timeoutMs = timeoutOf(request.header);
    let header = new Headers();
    let output: UnaryResponse<I, O>['message'] | undefined;
    const call = client.makeUnaryRequest(
      request.url,
      (input: typeof message) => Buffer.from(toBinary(method.input, input)),
      (bytes) => fromBinary(method.output, bytes),
      message,
      toMetadata(request.header),
      timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
      (error, value) => {
        signal.removeEventListener('abort', cancel);
        if (error) reject(fromGrpcStatus(error));
        output = value;
      },
    );
    const cancel = () => call.cancel();
    signal.addEventListener('abort', cancel);
    call.on('metadata', (metadata: Metadata) => (header = toHeaders(metadata)));
    // grpc-js calls back first and emits the status, with the trailers, after it.
    call.on('status', (status: StatusObject) => {
      if (!output) return;
      resolve({
        stream: false,
        service: request.service,
        method,
        header,
        message: output,
        trailer: toHeaders(status.metadata),
      });
    });
  });
}
