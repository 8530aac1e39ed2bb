import type { ServerHttp2Stream } from 'node:http2';

/**
 * The HTTP/2 stream that carries a call of a grpc-js handler, which grpc-js keeps to itself. Undefined when it is not found, as another
 * version may have it elsewhere.
 */
export function streamOfCall(call: object): ServerHttp2Stream | undefined {
  let { call: inner } = call as { call?: Inner };
  while (inner?.nextCall) inner = inner.nextCall;
  return inner?.stream;
}

/** What grpc-js answers through: each interceptor of the server, and then what is at the wire. */
interface Inner {
  readonly nextCall?: Inner;
  readonly stream?: ServerHttp2Stream;
}
