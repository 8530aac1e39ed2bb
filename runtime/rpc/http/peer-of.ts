import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Peer } from '../peer.ts';

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;

/** Who is at the other end of a connection to an HTTP door. */
export function peerOf(socket: Socket | TLSSocket): Peer {
  const loopback = LOOPBACK.test(socket.remoteAddress ?? '');
  const proven = 'authorized' in socket && socket.authorized;
  const [clientName] = proven ? [socket.getPeerCertificate().subject.CN].flat() : [];
  return { loopback, clientName };
}
