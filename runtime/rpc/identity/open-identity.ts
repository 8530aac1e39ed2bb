import type { Interceptor } from '@connectrpc/connect';
import type { Logger } from '../../lifecycle/logger.ts';
import { nameFile } from '../../lifecycle/watched-files.ts';
import { type DoorTls, watchTlsFiles } from '../tls.ts';
import { identify } from './identify.ts';
import { fixedSecret, keysAtUrl, keysInFile, secretInFile, type TokenKeys } from './keys.ts';
import { algorithmsOf, type IdentitySettings, minSecretBytes, trustsLoopback } from './settings.ts';
import { Tokens } from './tokens.ts';

/** What a service's doors need to know who calls. */
export interface Identity {
  /** For each door. Undefined: plain text. */
  readonly tls: DoorTls | undefined;
  /** For the place right behind the request log. */
  readonly interceptor: Interceptor;
  /** Ends the watching of files and keys. */
  close(): void;
}

/** Sets up TLS and identity as the settings say, which `checkSettings` has found good. Throws ConfigError when a file is no good. */
export function openIdentity(settings: IdentitySettings, logger: Logger): Identity {
  const tls = doorTls(settings, logger);
  const keys = tokenKeys(settings, logger);
  const tokens =
    keys &&
    new Tokens(keys, {
      issuer: settings.JWT_ISSUER!,
      audience: settings.JWT_AUDIENCE!,
      algorithms: algorithmsOf(settings),
    });
  const clientNames = new Set(settings.TLS_CLIENT_NAMES);
  return {
    tls,
    interceptor: identify({ tokens, clientNames, trustLoopback: trustsLoopback(settings) }),
    close() {
      tls?.files.close();
      keys?.close();
    },
  };
}

function doorTls(settings: IdentitySettings, logger: Logger): DoorTls | undefined {
  if (settings.TLS_CERT_FILE === null) return undefined;
  const files = {
    cert: nameFile('TLS_CERT_FILE', settings),
    key: nameFile('TLS_KEY_FILE', settings),
    ca: nameFile('TLS_CLIENT_CA_FILE', settings),
  };
  return { files: watchTlsFiles(files, logger), clientNames: new Set(settings.TLS_CLIENT_NAMES) };
}

function tokenKeys(settings: IdentitySettings, logger: Logger): TokenKeys | undefined {
  const { JWT_JWKS_URL: url, JWT_SECRET: secret } = settings;
  const jwks = nameFile('JWT_JWKS_FILE', settings);
  const secretFile = nameFile('JWT_SECRET_FILE', settings);
  if (url !== null) return keysAtUrl(url, logger);
  if (jwks) return keysInFile(jwks, logger);
  if (secretFile) return secretInFile(secretFile, minSecretBytes(settings), logger);
  return secret === null ? undefined : fixedSecret(Buffer.from(secret));
}
