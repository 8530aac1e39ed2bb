import type { ServerUnaryCall } from '@grpc/grpc-js';
import type { Peer } from './peer.ts';
import { peerOf } from './peer-of.ts';
import type { DoorTls } from './tls.ts';

type Call = Pick<ServerUnaryCall<unknown, unknown>, 'getPeer' | 'getAuthContext'>;

const known = new WeakMap<object, Peer>();

/** The peer of a call of grpc-js. */
export function peerOfCall(call: Call, tls: DoorTls | undefined): Peer {
  const session = sessionOf(call as { call?: Inner });
  let peer = session && known.get(session);
  if (!peer) {
    const { sslPeerCertificate } = call.getAuthContext();
    peer = peerOf(call.getPeer().replace(/:\d+$/, ''), sslPeerCertificate, tls?.clientNames);
    if (session) known.set(session, peer);
  }
  return peer;
}

/**
 * The HTTP/2 session that carries the call, which grpc-js keeps to itself: decoding a certificate for every call would double what an
 * empty one costs. Undefined when it is not found: then every certificate is decoded.
 */
function sessionOf({ call }: { call?: Inner }): object | undefined {
  let inner = call;
  while (inner?.nextCall) inner = inner.nextCall;
  return inner?.stream?.session;
}

/** What grpc-js answers through: each interceptor of the server, and then what is at the wire. */
interface Inner {
  readonly nextCall?: Inner;
  readonly stream?: { readonly session?: object };
}
