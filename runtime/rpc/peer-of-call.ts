import type { ServerUnaryCall } from '@grpc/grpc-js';
import type { Peer } from './peer.ts';
import { peerOf } from './peer-of.ts';
import { streamOfCall } from './stream-of-call.ts';
import type { DoorTls } from './tls.ts';

type Call = Pick<ServerUnaryCall<unknown, unknown>, 'getPeer' | 'getAuthContext'>;

const known = new WeakMap<object, Peer>();

/** The peer of a call of grpc-js. Its certificate is decoded once for each connection: for every call it would double what an empty one costs. */
export function peerOfCall(call: Call, tls: DoorTls | undefined): Peer {
  const session = streamOfCall(call)?.session;
  let peer = session && known.get(session);
  if (!peer) {
    const { sslPeerCertificate } = call.getAuthContext();
    peer = peerOf(call.getPeer().replace(/:\d+$/, ''), sslPeerCertificate, tls?.clientNames);
    if (session) known.set(session, peer);
  }
  return peer;
}
