import { connect } from 'node:http2';

/** A gRPC call past any client, which would watch the deadline itself or refuse to send what is wrong. Returns what came back, trailers too. */
export async function rawCall(
  address: string,
  path: string,
  headers: Record<string, string>,
  message: Uint8Array = new Uint8Array(),
): Promise<Record<string, unknown>> {
  const session = connect(`http://${address}`);
  try {
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    const frame = Buffer.alloc(5 + message.length);
    frame.writeUInt32BE(message.length, 1);
    frame.set(message, 5);
    stream.end(frame);
    return await new Promise((resolve, reject) => {
      let seen: Record<string, unknown> = {};
      const note = (received: Record<string, unknown>) => (seen = { ...seen, ...received });
      stream.on('response', note).on('trailers', note);
      stream
        .on('error', reject)
        .on('close', () => resolve(seen))
        .resume();
    });
  } finally {
    session.close();
  }
}
