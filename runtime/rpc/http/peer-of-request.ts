import type { Peer } from '../peer.ts';
import { peerOf } from '../peer-of.ts';
import type { HttpRequest } from './http-server.ts';

const known = new WeakMap<object, Peer>();

/** The peer of a request. Its certificate is decoded once for each connection; of HTTP/2 the session stands for that. */
export function peerOfRequest(request: HttpRequest, trusted: ReadonlySet<string> | undefined): Peer {
  const { socket } = request;
  const connection = ('stream' in request ? request.stream.session : undefined) ?? socket;
  let peer = known.get(connection);
  if (!peer) {
    const proven = 'authorized' in socket && socket.authorized;
    peer = peerOf(socket.remoteAddress, proven ? socket.getPeerCertificate() : undefined, trusted);
    known.set(connection, peer);
  }
  return peer;
}
