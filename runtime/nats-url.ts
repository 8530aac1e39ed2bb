import type { ConnectionOptions } from '@nats-io/transport-node';

/** Where a NATS server is and how to get in. A part of the client's own options. */
export type NatsAddress = Pick<ConnectionOptions, 'servers' | 'user' | 'pass' | 'token' | 'tls'>;

/**
 * Reads `nats://user:password@host:port`, or several separated by commas, of which one that answers is used; those of a cluster tell
 * of the others. `nats://token@host:port`: a token. `tls://…`: never without TLS. The port is 4222 unless it is given. Credentials
 * stand with the first server and serve for all; `%xx` stands for a byte.
 *
 * @returns undefined when it is none. There is no error to log, since it would hold the credentials.
 */
export function readNatsUrl(text: string): NatsAddress | undefined {
  try {
    const urls = text.split(',').map((part) => new URL(part.trim()));
    if (!urls.every(isServer)) return undefined;
    const [user, pass] = [decodeURIComponent(urls[0]!.username), decodeURIComponent(urls[0]!.password)];
    return {
      servers: urls.map((url) => url.host),
      ...(pass !== '' ? { user, pass } : user !== '' ? { token: user } : {}),
      ...(urls.some((url) => url.protocol === 'tls:') && { tls: {} }),
    };
  } catch {
    // No URL, or a %xx that stands for no text.
    return undefined;
  }
}

function isServer({ protocol, hostname, pathname, search, hash }: URL): boolean {
  return /^(nats|tls):$/.test(protocol) && hostname !== '' && pathname.replace('/', '') + search + hash === '';
}
