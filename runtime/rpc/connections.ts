import { type Http2Session, performServerHandshake } from 'node:http2';
import { Duplex } from 'node:stream';
import type { ChannelOptions, ServerOptions } from '@grpc/grpc-js';

/**
 * A peer is asked for a sign of life so often, in milliseconds, and given up when it takes a third of that to give one, but at least 1 s.
 * More often is taken for abuse by some.
 *
 * @see https://github.com/googleapis/java-bigtable-hbase/pull/2682 the same figures, and why
 */
const KEEPALIVE_MS = 30_000;

/**
 * How long a connection lasts that no caller ends, in milliseconds, a tenth more or less: then its caller is asked to make a new one, and so
 * finds servers that were started since. Temporal's frontend has the same.
 *
 * @see https://github.com/grpc/proposal/blob/master/A9-server-side-conn-mgt.md
 */
const MAX_AGE_MS = 300_000;

/** What an old connection still carries has so long to end: more than MAX_DEADLINE_MS can be, so that no call is lost. */
const AGE_GRACE_MS = 605_000;

/** When a connection ends. Times in milliseconds. */
export interface ConnectionOptions {
  /** Pause between two questions for a sign of life. Default 30 s. */
  keepaliveMs?: number;
  /** A server's connection that is older is asked to end. Default 5 minutes. */
  maxConnectionAgeMs?: number;
}

/** The options of a grpc-js server that say when its connections end. */
export function serverConnections({ keepaliveMs, maxConnectionAgeMs = MAX_AGE_MS }: ConnectionOptions): ServerOptions {
  keepClosingConnections();
  return {
    ...keepalive(keepaliveMs),
    'grpc.max_connection_age_ms': maxConnectionAgeMs,
    'grpc.max_connection_age_grace_ms': AGE_GRACE_MS,
  };
}

/** Those of a client: a half-open connection is noticed also while it is idle, before a call meets it. */
export function clientConnections({ keepaliveMs }: ConnectionOptions): ChannelOptions {
  return { ...keepalive(keepaliveMs), 'grpc.keepalive_permit_without_calls': 1 };
}

function keepalive(ms = KEEPALIVE_MS): ChannelOptions {
  return { 'grpc.keepalive_time_ms': ms, 'grpc.keepalive_timeout_ms': Math.max(1000, Math.round(ms / 3)) };
}

type Ping = (this: Http2Session, ...parameters: unknown[]) => boolean;

let mended = false;

/**
 * Node sends no ping on a connection that is closing (after a GOAWAY) and says that it was cancelled, from which grpc-js concludes that
 * the peer is dead, and cuts off the calls that the connection still carries: https://github.com/grpc/grpc-node/issues/3068. So on a
 * closing connection a ping is now as good as answered, in the whole process. Its calls end by their deadlines.
 */
function keepClosingConnections(): void {
  if (mended) return;
  mended = true;
  const nowhere = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
  const session = performServerHandshake(nowhere);
  // Http2Session, of clients and servers alike, which Node does not export.
  const prototype = Object.getPrototypeOf(Object.getPrototypeOf(session)) as { ping: Ping };
  session.destroy();
  const { ping } = prototype;
  prototype.ping = function (...parameters) {
    if (!this.closed || this.destroyed) return ping.apply(this, parameters);
    const callback = parameters.at(-1) as (error: null, durationMs: number, payload: Buffer) => void;
    process.nextTick(callback, null, 0, Buffer.alloc(8));
    return true;
  };
}
