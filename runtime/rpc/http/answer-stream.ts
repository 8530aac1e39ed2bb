import { universalRequestFromNodeRequest } from '@connectrpc/connect-node';
import type { UniversalHandlerFn, UniversalServerResponse } from '@connectrpc/connect/protocol';
import type { HttpRequest, HttpResponse } from './http-server.ts';

/**
 * Serves one request for a method with streams, as the library does it: over HTTP/2, in binary or JSON. It has as long as any other request
 * has for its answer.
 *
 * @param stopping ends the requests of the stream, and so the stream.
 */
export function answerStream(
  handle: UniversalHandlerFn,
  request: HttpRequest,
  response: HttpResponse,
  stopping: AbortSignal,
): Promise<UniversalServerResponse> {
  const asked = universalRequestFromNodeRequest(request, response, undefined, undefined);
  const body = asked.body as AsyncIterable<Uint8Array>;
  const ends = AbortSignal.any([asked.signal, stopping]);
  return handle({ ...asked, body: untilAborted(body, ends) });
}

async function* untilAborted(body: AsyncIterable<Uint8Array>, ends: AbortSignal): AsyncIterable<Uint8Array> {
  const parts = body[Symbol.asyncIterator]();
  const { promise: end, resolve } = Promise.withResolvers<{ done: true }>();
  if (ends.aborted) resolve({ done: true });
  else ends.addEventListener('abort', () => resolve({ done: true }));
  for (;;) {
    const part = await Promise.race([parts.next(), end]);
    if (part.done) return;
    yield part.value;
  }
}
