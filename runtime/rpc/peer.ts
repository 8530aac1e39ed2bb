import { createContextKey } from '@connectrpc/connect';

/** Who is at the other end of a call's connection, as the connection itself tells. */
export interface Peer {
  /** The connection comes from this machine. */
  readonly loopback: boolean;
  /** The name that the client's certificate proves (mutual TLS). Undefined: it showed none. */
  readonly clientName: string | undefined;
}

/** Set by each door on every call. */
export const peerKey = createContextKey<Peer>(
  { loopback: false, clientName: undefined },
  { description: 'peer of this call' },
);
