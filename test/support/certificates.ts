import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentials, type ChannelCredentials } from '@grpc/grpc-js';

const folder = new URL('certificates/', import.meta.url);

/** The path of a PEM in `certificates/`: see `make.sh` there for what each is. */
export function pemPath(name: string): string {
  return new URL(name, folder).pathname;
}

export function pem(name: string): Buffer {
  return readFileSync(pemPath(name));
}

/** Credentials of a caller who knows our authority, and shows this certificate when one is named. */
export function callerCredentials(name?: string): ChannelCredentials {
  if (name === undefined) return credentials.createSsl(pem('ca.pem'));
  return credentials.createSsl(pem('ca.pem'), pem(`${name}.key`), pem(`${name}.pem`));
}

/** A folder of files that are replaced while somebody reads them; it is gone after the suite that calls this. */
export function useFolder(): { path: (name: string) => string; put: (name: string, source: string) => string } {
  let dir: string;
  before(() => (dir = mkdtempSync(join(tmpdir(), 'ordersystem-'))));
  after(() => rmSync(dir, { recursive: true }));
  const path = (name: string) => join(dir, name);
  return {
    path,
    /** Puts a file there as a whole, in place of one that may be there. */
    put(name, source) {
      copyFileSync(source, path(`${name}.new`));
      renameSync(path(`${name}.new`), path(name));
      return path(name);
    },
  };
}
