import { type DescMethodUnary, fromBinary, type Message } from '@bufbuild/protobuf';
import { base64Decode } from '@bufbuild/protobuf/wire';
import { Code, ConnectError } from '@connectrpc/connect';
import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node';
import { abortedError, commonError } from '../errors.ts';
import type { Form } from './form.ts';
import type { HttpRequest } from './http-server.ts';
import { readJson } from './read-json.ts';
import { wrongField } from './refusal.ts';

/** How a door compresses answers, and what it takes. */
export const compressions = [compressionGzip, compressionBrotli];

const FRAME_HEADER_BYTES = 5;
const COMPRESSED = 1;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads the request's message, wherever its protocol puts it.
 *
 * @param maxBytes the longest message, sent and unpacked.
 * @param signal ends the wait for the body.
 * @throws errors of the catalogue.
 */
export async function readMessage(
  request: HttpRequest,
  form: Form,
  method: DescMethodUnary,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Message> {
  const packed = form.query ? readQuery(form.query) : await readBody(request, form, maxBytes, signal);
  const bytes = await unpack(packed, maxBytes);
  if (form.json) return readJson(method.input, decode(bytes));
  try {
    return fromBinary(method.input, bytes);
  } catch (cause) {
    throw commonError('INVALID_REQUEST', `the bytes sent are not a ${method.input.typeName}`, { cause });
  }
}

interface Packed {
  bytes: Uint8Array;
  /** How they are compressed, and what said so. Default: not at all. */
  encoding: string | undefined;
  saidBy: string;
}

function readQuery(query: URLSearchParams): Packed {
  const text = query.get('message') ?? '';
  const packed = { encoding: query.get('compression') ?? undefined, saidBy: 'compression' };
  if (query.get('base64') !== '1') return { bytes: new TextEncoder().encode(text), ...packed };
  try {
    return { bytes: base64Decode(text), ...packed };
  } catch (cause) {
    throw wrongField('message', 'must be base64', cause);
  }
}

async function readBody(request: HttpRequest, form: Form, maxBytes: number, signal: AbortSignal): Promise<Packed> {
  if (form.protocol === 'connect') {
    const bytes = await collect(request, maxBytes, signal);
    return { bytes, encoding: headerOf(request, 'content-encoding'), saidBy: 'content-encoding' };
  }
  const frame = await collect(request, maxBytes + FRAME_HEADER_BYTES, signal);
  const bytes = frame.subarray(FRAME_HEADER_BYTES);
  const compressed = frame[0] === COMPRESSED;
  const whole = frame.length >= FRAME_HEADER_BYTES && frame.readUInt32BE(1) === bytes.length;
  if (!whole || (frame[0] !== 0 && !compressed))
    throw commonError('INVALID_REQUEST', 'the body must be one gRPC-Web frame');
  return { bytes, encoding: compressed ? headerOf(request, 'grpc-encoding') : undefined, saidBy: 'grpc-encoding' };
}

function collect(request: HttpRequest, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let length = 0;
  const take = (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) reject(tooLarge(maxBytes));
  };
  const finish = () => resolve(Buffer.concat(chunks, length));
  const giveUp = () => reject(abortedError(signal));
  if (Number(headerOf(request, 'content-length') ?? 0) > maxBytes) reject(tooLarge(maxBytes));
  else if (signal.aborted) giveUp();
  else {
    signal.addEventListener('abort', giveUp);
    request.on('data', take).on('end', finish);
  }
  return promise.finally(() => {
    signal.removeEventListener('abort', giveUp);
    request.off('data', take).off('end', finish).pause();
  });
}

async function unpack({ bytes, encoding = 'identity', saidBy }: Packed, maxBytes: number): Promise<Uint8Array> {
  if (encoding === 'identity') return bytes;
  const compression = compressions.find(({ name }) => name === encoding);
  if (!compression) throw wrongField(saidBy, `must be ${compressions.map(({ name }) => name).join(' or ')}`);
  try {
    return await compression.decompress(bytes, maxBytes);
  } catch (cause) {
    if (ConnectError.from(cause).code === Code.ResourceExhausted) throw tooLarge(maxBytes);
    throw wrongField(saidBy, `the message is not ${encoding}`, cause);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw commonError('INVALID_REQUEST', 'the message is not UTF-8', { cause });
  }
}

function headerOf(request: HttpRequest, name: string): string | undefined {
  return request.headers[name] as string | undefined;
}

function tooLarge(maxBytes: number) {
  return commonError('REQUEST_TOO_LARGE', `the message is over ${maxBytes} bytes`);
}
