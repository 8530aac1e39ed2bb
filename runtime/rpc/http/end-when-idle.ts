import type { ServerHttp2Session } from 'node:http2';

/**
 * Does for HTTP/2 what the timeouts of node:http do for HTTP/1.1: ends a session that has had no request for too long, whatever else
 * its client sends. Milliseconds: `headerMs` until the first request, `idleMs` after one.
 */
export function endWhenIdle(
  session: ServerHttp2Session,
  { headerMs, idleMs }: { headerMs: number; idleMs: number },
): void {
  let streams = 0;
  const endAfter = (ms: number) => setTimeout(() => session.destroy(), ms);
  let timer = endAfter(headerMs);
  session.on('stream', (stream) => {
    streams++;
    clearTimeout(timer);
    stream.once('close', () => {
      if (--streams === 0 && !session.destroyed) timer = endAfter(idleMs);
    });
  });
  session.once('close', () => clearTimeout(timer));
}
