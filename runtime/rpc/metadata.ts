import { type ConnectError, decodeBinaryHeader, encodeBinaryHeader } from '@connectrpc/connect';
import { Metadata } from '@grpc/grpc-js';
import { commonError } from './errors.ts';

// What grpc-js writes itself from the call's options.
const RESERVED = new Set(['grpc-timeout', 'content-type', 'te', 'user-agent']);

/** grpc-js metadata as the Headers that Connect's interceptors and handlers see. `-bin` values are base64 there. */
export function toHeaders(metadata: Metadata): Headers {
  const headers = new Headers();
  for (const key of Object.keys(metadata.getMap())) {
    for (const value of metadata.get(key)) {
      headers.append(key, typeof value === 'string' ? value : encodeBinaryHeader(value));
    }
  }
  return headers;
}

/** The other way round, without the headers that grpc-js makes itself. */
export function toMetadata(headers: Headers): Metadata {
  const metadata = new Metadata();
  headers.forEach((value, key) => {
    if (RESERVED.has(key)) return;
    if (!key.endsWith('-bin')) metadata.add(key, value);
    else for (const one of value.split(',')) metadata.add(key, Buffer.from(decodeBinaryHeader(one.trim())));
  });
  return metadata;
}

/**
 * Most metadata that a request may carry, in bytes, each entry with 32 on top. More than 128 entries, and ones of more than 64 KiB, do not
 * come so far: Node resets the stream.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md 8 KiB is what every server should take
 */
const MAX_METADATA_BYTES = 16 * 1024;

/** The error of a request with more metadata than that. */
export function metadataTooLarge(metadata: Metadata): ConnectError | undefined {
  let bytes = 0;
  for (const key of Object.keys(metadata.getMap())) {
    for (const value of metadata.get(key)) bytes += key.length + value.length + 32;
  }
  if (bytes <= MAX_METADATA_BYTES) return undefined;
  const description = `must have at most ${MAX_METADATA_BYTES} bytes, had ${bytes}`;
  return commonError('INVALID_REQUEST', `metadata: ${description}`, {
    fieldViolations: [{ field: 'metadata', description }],
  });
}
