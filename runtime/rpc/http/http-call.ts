import { create, type DescMethodUnary, type Message, toBinary, toJson } from '@bufbuild/protobuf';
import {
  ConnectError,
  createContextKey,
  type HandlerContext,
  type MethodImpl,
  type UnaryRequest,
  type UnaryResponse,
} from '@connectrpc/connect';
import type { CallDeadline } from '../call-deadline.ts';
import { abortedError, commonError } from '../errors.ts';
import type { UnaryCall } from '../interceptors.ts';
import { toGrpcStatus } from '../status.ts';

/** One call at an HTTP door. */
export interface HttpCall {
  readonly deadline: CallDeadline;
  /** Its answer is written as JSON. */
  readonly json: boolean;
  /** Waits for its message. Rejects with an error of the catalogue. */
  readonly receive: () => Promise<Message>;
}

export type AnyImpl = (request: Message, context: HandlerContext) => unknown;

/** Where a call finds itself in what the library hands on. */
export const callKey = createContextKey<HttpCall | undefined>(undefined, { description: 'this call at the HTTP door' });

/** Runs a call around all interceptors. Every error that it rejects with may be sent. */
export async function runCall(call: HttpCall, next: UnaryCall, request: UnaryRequest): Promise<UnaryResponse> {
  try {
    const message = await call.receive();
    return await next({ ...request, message });
  } catch (error) {
    const { signal } = call.deadline;
    throw signal.aborted ? abortedError(signal) : sendable(error);
  }
}

/** The implementation inside all interceptors, with the call's own deadline. */
export function implement(method: DescMethodUnary, impl: AnyImpl): MethodImpl<DescMethodUnary> {
  return async (request, context) => {
    const { deadline, json } = context.values.get(callKey)!;
    if (deadline.signal.aborted) throw abortedError(deadline.signal);
    const answer = create(method.output, (await impl(request, { ...context, timeoutMs: deadline.timeoutMs })) as never);
    // The library does it again, where no interceptor sees what cannot be encoded. Only the binary format looks at numbers.
    toBinary(method.output, answer);
    if (json) toJson(method.output, answer);
    return answer;
  };
}

/** What the work comes to, or the end of its call: that does not wait for a handler that is slow to look at its signal. */
export function inTime<T>(work: Promise<T>, { signal }: CallDeadline): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const giveUp = () => reject(abortedError(signal));
  if (signal.aborted) giveUp();
  else signal.addEventListener('abort', giveUp);
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  return promise;
}

/** The error itself when it can be sent at any door, else INTERNAL. */
function sendable(error: unknown): ConnectError {
  try {
    if (!(error instanceof ConnectError)) throw error;
    toGrpcStatus(error);
    if (error.rawMessage.isWellFormed()) return error;
    const whole = new ConnectError(error.rawMessage.toWellFormed(), error.code, error.metadata, undefined, error.cause);
    whole.details = error.details;
    return whole;
  } catch (cause) {
    return commonError('INTERNAL', 'internal error', { cause });
  }
}
