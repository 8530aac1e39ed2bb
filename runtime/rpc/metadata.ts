import { decodeBinaryHeader, encodeBinaryHeader } from '@connectrpc/connect';
import { Metadata } from '@grpc/grpc-js';

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
