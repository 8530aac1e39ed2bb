import { once } from 'node:events';
import {
  create,
  type DescMessage,
  type DescMethodBiDiStreaming,
  type DescMethodServerStreaming,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { type ConnectError, createHandlerContext, type HandlerContext } from '@connectrpc/connect';
import type { ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js';
import { commonError } from './errors.ts';
import { toHeaders } from './metadata.ts';
import { safeError, safeStatus } from './status.ts';

export type StreamMethod = DescMethodServerStreaming | DescMethodBiDiStreaming;
/** What grpc-js hands to a handler that answers with a stream. */
export type StreamCall = ServerWritableStream<Buffer, Buffer> | ServerDuplexStream<Buffer, Buffer>;
export type StreamImpl = (requests: unknown, context: HandlerContext) => AsyncIterable<unknown>;

/**
 * Serves one call of a method that answers with a stream, written for Connect. Resolves when its implementation has ended.
 *
 * @param stopping ends the call with UNAVAILABLE: its caller should go to another server.
 */
export async function serveStream(
  method: StreamMethod,
  impl: StreamImpl,
  call: StreamCall,
  stopping: AbortSignal,
): Promise<void> {
  const context = createHandlerContext({
    method,
    service: method.parent,
    protocolName: 'grpc',
    requestMethod: 'POST',
    url: call.getPath(),
    requestHeader: toHeaders(call.metadata),
    shutdownSignal: stopping,
  });
  const { signal } = context;
  call.on('cancelled', () => context.abort());
  const fail = (error: ConnectError) => void (call.writableEnded || call.emit('error', safeStatus(error)));
  // Does not wait for an implementation that waits for the caller's next message.
  signal.addEventListener('abort', () => {
    if (stopping.aborted) fail(commonError('SERVICE_UNAVAILABLE', 'the server is shutting down'));
  });
  try {
    const requests = 'request' in call ? parse(method.input, call.request) : parseEach(method.input, call);
    for await (const answer of impl(requests, context)) {
      if (signal.aborted) break;
      const bytes = toBinary(method.output, create(method.output, answer as never));
      if (!call.write(Buffer.from(bytes))) await once(call, 'drain', { signal });
    }
    if (!call.writableEnded) call.end();
  } catch (error) {
    if (!signal.aborted) fail(safeError(error));
  } finally {
    context.abort();
  }
}

async function* parseEach<I extends DescMessage>(desc: I, call: ServerDuplexStream<Buffer, Buffer>) {
  // The stream is also that of the answers, and has to outlive the requests.
  for await (const bytes of call.iterator({ destroyOnReturn: false })) yield parse(desc, bytes as Buffer);
}

function parse<I extends DescMessage>(desc: I, bytes: Buffer): MessageShape<I> {
  try {
    return fromBinary(desc, bytes);
  } catch (cause) {
    throw commonError('INVALID_REQUEST', `the bytes sent are not a ${desc.typeName}`, { cause });
  }
}
