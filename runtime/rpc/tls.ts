import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { Logger } from '../lifecycle/logger.ts';
import { type NamedFile, WatchedFiles } from '../lifecycle/watched-files.ts';

/** PEMs, as node:tls and node:http2 take them: in `createSecureServer`, `setSecureContext`, `createSecureContext`. */
export interface TlsPems {
  /** Our own certificate, with those between it and its authority. */
  readonly cert?: Buffer;
  /** Its private key, not encrypted. */
  readonly key?: Buffer;
  /** The authorities by which the other side's certificate must be signed. */
  readonly ca?: Buffer;
}

export type TlsFiles = WatchedFiles<TlsPems, keyof TlsPems>;

/** How a door does TLS. */
export interface DoorTls {
  /** With `ca`: whoever connects is asked for a certificate. */
  readonly files: TlsFiles;
  /** The names of those clients that are trusted. */
  readonly clientNames: ReadonlySet<string>;
}

/** Watches the files of one side of TLS. They are no good, and the old ones stay, when they do not fit or have expired. */
export function watchTlsFiles(
  files: Partial<Record<keyof TlsPems, NamedFile>>,
  logger: Logger,
  intervalMs?: number,
): TlsFiles {
  return new WatchedFiles({ files, parse: checked, logger, intervalMs });
}

/**
 * What a door's TLS server is made with. A certificate is asked for, but a connection without a good one is not cut: its calls show no
 * name, which is answered and logged call by call, and probes and token bearers need none.
 */
export function doorTlsOptions({ files }: DoorTls) {
  const pems = files.current();
  return { ...pems, requestCert: pems.ca !== undefined, rejectUnauthorized: false };
}

function checked(pems: TlsPems): TlsPems {
  const [own] = pems.cert ? certificatesIn(pems.cert) : [];
  if (own && own.validToDate.getTime() < Date.now()) throw new Error('the certificate has expired');
  if (pems.ca) certificatesIn(pems.ca);
  // Fails when the key is not the certificate's.
  createSecureContext(pems);
  return pems;
}

function certificatesIn(pem: Buffer): X509Certificate[] {
  const blocks = pem.toString('latin1').match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  if (!blocks) throw new Error('there is no certificate in it');
  return blocks.map((block) => new X509Certificate(block));
}
