import { createServer } from 'node:net';

/** Fails with one clear message when nobody can listen on the address; port 0 is always free. */
export async function requireFreePort(address: string, variable: string): Promise<void> {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(address) ?? [];
  if (host === undefined) throw new Error(`${variable}=${address}: must be host:port`);
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.on('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'EADDRINUSE' ? 'is taken, perhaps by another npm start' : `cannot be used (${error.code})`;
      reject(new Error(`${address} ${why}: free it, or set ${variable} to another address`, { cause: error }));
    });
    server.listen({ host: host.replace(/^\[(.*)\]$/, '$1'), port: Number(port) }, () => server.close(() => resolve()));
  });
}
