import type { PeerCertificate } from 'node:tls';
import type { Peer } from './peer.ts';

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$/;

/**
 * The peer of a connection.
 *
 * @param address its address, without the port.
 * @param certificate what it showed, if TLS has verified it (`socket.authorized`); undefined or an empty object: none.
 * @param trusted of the names in a certificate, one of these is preferred.
 */
export function peerOf(
  address: string | undefined,
  certificate: Partial<PeerCertificate> | undefined,
  trusted?: ReadonlySet<string>,
): Peer {
  const names = certificate ? namesIn(certificate) : [];
  return {
    loopback: address !== undefined && LOOPBACK.test(address),
    clientName: names.find((name) => trusted?.has(name)) ?? names[0],
  };
}

/** DNS names and URIs of the subject's alternative names; where there is none, the common name. */
function namesIn({ subjectaltname = '', subject }: Partial<PeerCertificate>): string[] {
  const names: string[] = [];
  // `DNS:a, URI:"as JSON", IP Address:127.0.0.1`: Node quotes a value that could be taken for more than one.
  const entry = /([^:,"]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;
  while (entry.lastIndex < subjectaltname.length) {
    const [, kind, value] = entry.exec(subjectaltname) ?? [];
    if (value === undefined) return [];
    if (kind === 'DNS' || kind === 'URI') names.push(value.startsWith('"') ? (JSON.parse(value) as string) : value);
  }
  if (names.length > 0) return names;
  // Two common names are an array: which one counts would be anybody's guess.
  const name: unknown = subject?.CN;
  return typeof name === 'string' ? [name] : [];
}
