import type { DescMethodUnary } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel as Idempotency } from '@bufbuild/protobuf/wkt';
import type { HttpRequest } from './http-server.ts';

/** How a request, and its answer, are written. */
export interface Form {
  readonly protocol: 'connect' | 'grpc-web';
  readonly json: boolean;
  /** Of a request's body. */
  readonly contentType: string;
  /** Where the message is when the request is a GET. */
  readonly query?: URLSearchParams;
}

const JSON_FORM: Form = { protocol: 'connect', json: true, contentType: 'application/json' };
const FORMS: Form[] = [
  JSON_FORM,
  { protocol: 'connect', json: false, contentType: 'application/proto' },
  { protocol: 'grpc-web', json: false, contentType: 'application/grpc-web' },
  { protocol: 'grpc-web', json: false, contentType: 'application/grpc-web+proto' },
  { protocol: 'grpc-web', json: true, contentType: 'application/grpc-web+json' },
];
const CHARSET = /\s*;\s*charset="?utf-?8"?$/i;

/** How a refusal is written when its request was written in no way that a door reads. */
export const fallbackForm = JSON_FORM;

/** Every content type of a request's body. */
export const contentTypes = FORMS.map(({ contentType }) => contentType);

/** The HTTP methods by which one of the contract can be called. */
export function verbsOf(method: DescMethodUnary): string[] {
  return method.idempotency === Idempotency.NO_SIDE_EFFECTS ? ['GET', 'POST'] : ['POST'];
}

/** How a GET or a POST is written. Undefined: in no way that a door reads. */
export function formOf(request: HttpRequest): Form | undefined {
  if (request.method === 'POST') {
    const contentType = (request.headers['content-type'] ?? '').replace(CHARSET, '').toLowerCase();
    return FORMS.find((form) => form.contentType === contentType);
  }
  const [, text = ''] = request.url?.split(/\?(.*)/s, 2) ?? [];
  const query = new URLSearchParams(text);
  const encoding = query.get('encoding');
  if (encoding !== 'json' && encoding !== 'proto') return undefined;
  return { protocol: 'connect', json: encoding === 'json', contentType: '', query };
}

/** An empty message in this form: the end of a URL, and a body. */
export function emptyRequest({ protocol, json, query }: Form): { search: string; body: AsyncIterable<Uint8Array> } {
  const message = json ? '{}' : '';
  if (query) return { search: `?encoding=${json ? 'json' : 'proto'}&message=${message}`, body: bytesOf() };
  const text = protocol === 'connect' ? message : `\0\0\0\0${String.fromCharCode(message.length)}${message}`;
  return { search: '', body: bytesOf(text) };
}

/** A body of so many parts. */
export async function* bytesOf(...texts: string[]): AsyncIterable<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}
