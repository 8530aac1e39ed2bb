import { create, type DescMethodUnary, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { ConnectError, HandlerContext, Interceptor, UnaryRequest } from '@connectrpc/connect';
import type { Metadata, sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';
import { CallContext } from './call-context.ts';
import type { Deadline } from './deadline.ts';
import { abortedError, commonError } from './errors.ts';
import { chain } from './interceptors.ts';
import { metadataTooLarge, toMetadata } from './metadata.ts';
import { peerKey } from './peer.ts';
import { peerOfCall } from './peer-of-call.ts';
import { safeError, safeStatus } from './status.ts';
import type { DoorTls } from './tls.ts';

/** What grpc-js hands to a handler of a unary method. */
export type UnaryCall = ServerUnaryCall<Buffer, Uint8Array>;
export type UnaryCallback = sendUnaryData<Uint8Array>;
export type UnaryImpl = (request: unknown, context: HandlerContext) => unknown;

/** A unary method, written for Connect, and what stands around it. */
export interface ServedMethod {
  method: DescMethodUnary;
  impl: UnaryImpl;
  /** Outermost first. */
  interceptors: Interceptor[];
  deadline: Deadline;
  /** Of the port. Default: plain text. */
  tls?: DoorTls | undefined;
}

/** Serves one call. Resolves when its implementation has ended, which may be after its answer. */
export async function serveUnary(
  { method, impl, interceptors, deadline, tls }: ServedMethod,
  call: UnaryCall,
  callback: UnaryCallback,
): Promise<void> {
  const context = new CallContext(call, method, deadline);
  context.values.set(peerKey, peerOfCall(call, tls));
  let replied = false;
  const reply = (error: ConnectError | null, bytes?: Uint8Array, trailer?: Metadata) => {
    if (replied) return;
    replied = true;
    callback(error && safeStatus(error), bytes, trailer);
  };
  // The reply does not wait for a handler that is slow to look at its signal.
  context.signal.addEventListener('abort', () => {
    if (!replied) reply(abortedError(context.signal));
  });
  let encoded: { message: unknown; bytes: Uint8Array } | undefined;
  try {
    const { request, wrong } = read(method, call, context);
    const serve = chain(interceptors, async (asked) => {
      if (wrong) throw wrong;
      if (context.signal.aborted) throw abortedError(context.signal);
      const message = create(method.output, (await impl(asked.message, context)) as never);
      encoded = { message, bytes: toBinary(method.output, message) };
      const { responseHeader: header, responseTrailer: trailer } = context;
      return { stream: false, service: method.parent, method, message, header, trailer };
    });
    const { message, header, trailer } = await serve(request);
    const bytes = encoded?.message === message ? encoded.bytes : toBinary(method.output, message);
    const [headers, trailers] = [toMetadata(header), toMetadata(trailer)];
    call.sendMetadata(headers);
    reply(null, bytes, trailers);
  } catch (error) {
    reply(context.signal.aborted ? abortedError(context.signal) : safeError(error));
  } finally {
    context.end();
  }
}

/** The request, and what is wrong with it: the interceptors see the one, and then the other instead of an answer. */
function read(method: DescMethodUnary, call: UnaryCall, context: HandlerContext) {
  let message = create(method.input);
  let wrong = metadataTooLarge(call.metadata);
  try {
    message = fromBinary(method.input, call.request);
  } catch (cause) {
    wrong ??= commonError('INVALID_REQUEST', `the bytes sent are not a ${method.input.typeName}`, { cause });
  }
  const request: UnaryRequest = {
    stream: false,
    service: method.parent,
    method,
    requestMethod: context.requestMethod,
    url: context.url,
    signal: context.signal,
    header: context.requestHeader,
    contextValues: context.values,
    message,
  };
  return { request, wrong };
}
