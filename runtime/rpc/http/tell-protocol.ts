import type { Socket } from 'node:net';

// https://www.rfc-editor.org/rfc/rfc9113#section-3.4: HTTP/2 begins with `PRI * HTTP/2.0`, and no other method with these letters.
const HTTP2_BEGINS = 'PRI';

/**
 * Hands a connection on, paused, when its first bytes tell what it speaks; they are there to be read again. One that is silent for
 * `waitMs` is closed.
 */
export function tellProtocol(socket: Socket, waitMs: number, hand: (socket: Socket, isHttp2: boolean) => void): void {
  let head = Buffer.alloc(0);
  const stop = () => socket.destroy();
  const read = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const start = head.toString('latin1', 0, HTTP2_BEGINS.length);
    if (start.length < HTTP2_BEGINS.length && HTTP2_BEGINS.startsWith(start)) return;
    socket.off('data', read).off('end', stop).off('error', stop).off('timeout', stop).setTimeout(0);
    socket.pause();
    socket.unshift(head);
    hand(socket, start === HTTP2_BEGINS);
  };
  socket.on('data', read).on('end', stop).on('error', stop).on('timeout', stop).setTimeout(waitMs);
}
