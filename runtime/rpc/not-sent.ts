import { ConnectError } from '@connectrpc/connect';

/** The cause of a ConnectError of a call that was refused on the caller's own side: nothing of it was sent. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

/** Whether a call failed before anything of it was sent, so that it has had no effect and will have none. */
export function wasNotSent(error: unknown): boolean {
  return error instanceof ConnectError && error.cause instanceof NotSentError;
}
