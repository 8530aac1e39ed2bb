import type { DescMethodUnary } from '@bufbuild/protobuf';
import { createContextValues } from '@connectrpc/connect';
import type { UniversalHandlerFn, UniversalServerResponse } from '@connectrpc/connect/protocol';
import { CallDeadline } from '../call-deadline.ts';
import type { Deadline } from '../deadline.ts';
import { commonError } from '../errors.ts';
import { type Peer, peerKey } from '../peer.ts';
import { emptyRequest, fallbackForm, formOf } from './form.ts';
import { callKey } from './http-call.ts';
import type { HttpRequest, HttpResponse } from './http-server.ts';
import { readMessage } from './read-message.ts';
import { askedMs, type Refusal, refusalOf } from './refusal.ts';

/** A method, and the library's handler of it for every protocol. */
export interface Rpc {
  readonly method: DescMethodUnary;
  readonly handle: UniversalHandlerFn;
}

/** What holds for a call when it arrives. Times in milliseconds. */
export interface CallTerms {
  readonly deadline: Deadline;
  /** Default 1 MiB. */
  readonly maxMessageBytes?: number;
  readonly peer: Peer;
  /** No new call is served any more. */
  readonly stopping: boolean;
}

// What they say is done before the library sees the request.
const SETTLED = ['content-length', 'content-encoding', 'grpc-encoding', 'connect-timeout-ms', 'grpc-timeout'];

/** Serves one request for a method: the answer, or an error in the words of the request's protocol. */
export async function answerCall(
  { method, handle }: Rpc,
  request: HttpRequest,
  response: HttpResponse,
  terms: CallTerms,
): Promise<UniversalServerResponse> {
  const header = headersOf(request);
  const refusal = refusalOf(request, header, method) ?? (terms.stopping ? STOPPING : undefined);
  const form = (!refusal?.status && formOf(request)) || fallbackForm;
  const deadline = new CallDeadline(refusal ? undefined : askedMs(header), terms.deadline);
  // Whoever watches his own deadline leaves when it passes.
  response.once('close', () => deadline.callerLeft(deadline.timeoutMs() <= 1));
  const receive = async () => {
    if (refusal) throw refusal.error;
    return readMessage(request, form, method, terms.maxMessageBytes ?? 1024 * 1024, deadline.signal);
  };
  for (const name of SETTLED) header.delete(name);
  header.set('content-type', form.contentType);
  const { search, body } = emptyRequest(form);
  const answer = await handle({
    httpVersion: request.httpVersion,
    method: form.query ? 'GET' : 'POST',
    // The library wants a whole URL. Which host the caller named is nothing to rely on.
    url: `http://localhost/${method.parent.typeName}/${method.name}${search}`,
    header,
    body,
    signal: deadline.signal,
    contextValues: createContextValues().set(callKey, { deadline, json: form.json, receive }).set(peerKey, terms.peer),
  });
  const answerHeader = answer.header ?? new Headers();
  for (const [name, value] of Object.entries(refusal?.header ?? {})) answerHeader.set(name, value);
  // A body that did not come in time is not waited for.
  if (deadline.signal.aborted && !request.complete) closeAfter(request, answerHeader);
  return { ...answer, status: refusal?.status ?? answer.status, header: answerHeader };
}

/** The connection ends with this answer. HTTP/2 has no such header: its streams end one by one. */
export function closeAfter(request: HttpRequest, header: Headers): void {
  if (request.httpVersionMajor === 1) header.set('connection', 'close');
}

const STOPPING: Refusal = { error: commonError('SERVICE_UNAVAILABLE', 'this process is stopping') };

function headersOf(request: HttpRequest): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    // HTTP/2 has the request line among them.
    if (value !== undefined && !name.startsWith(':')) headers.set(name, String(value));
  }
  return headers;
}
