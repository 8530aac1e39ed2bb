import type { z } from 'zod';
import { isLoopback, requireTogether } from '../../lifecycle/config.ts';
import {
  ALGORITHMS,
  identifiesCallers,
  type IdentitySettings,
  KEY_SOURCES,
  keySourcesIn,
  kindOfKey,
  minSecretBytes,
} from './settings.ts';

const IDENTIFY = `JWT (one of ${KEY_SOURCES.join(', ')}) or mutual TLS (TLS_CLIENT_CA_FILE)`;
const ENCRYPT = 'TLS (TLS_CERT_FILE), or TLS_TERMINATED=on where a proxy in front does it';

const requireAll = requireTogether({
  TLS_CERT_FILE: ['TLS_KEY_FILE'],
  TLS_KEY_FILE: ['TLS_CERT_FILE'],
  TLS_CLIENT_CA_FILE: ['TLS_CERT_FILE', 'TLS_CLIENT_NAMES'],
  TLS_CLIENT_NAMES: ['TLS_CLIENT_CA_FILE'],
  ...Object.fromEntries(KEY_SOURCES.map((source) => [source, ['JWT_ISSUER', 'JWT_AUDIENCE']])),
});

/**
 * Says what is wrong with the variables taken together; for `loadConfig`. Those whose name ends in LISTEN_ADDRESS must be loopback,
 * unless callers are identified and nobody can listen in.
 */
export function checkSettings(settings: IdentitySettings, context: z.RefinementCtx): void {
  const wrong = (variable: string, message: string) => context.addIssue({ code: 'custom', path: [variable], message });

  requireAll(settings, context);
  checkJwt(settings, wrong);

  const nobody = `leaves nobody who may call: configure ${IDENTIFY}`;
  if (settings.TRUST_LOOPBACK === 'on' && settings.TLS_TERMINATED === 'on') {
    wrong('TRUST_LOOPBACK', "cannot be on with TLS_TERMINATED: a proxy on this machine may bring strangers' calls");
  } else if (!identifiesCallers(settings)) {
    if (settings.TRUST_LOOPBACK === 'off') wrong('TRUST_LOOPBACK', nobody);
    else if (settings.TLS_TERMINATED === 'on') wrong('TLS_TERMINATED', nobody);
  }

  if (identifiesCallers(settings) && (settings.TLS_CERT_FILE !== null || settings.TLS_TERMINATED === 'on')) return;
  for (const [variable, address] of Object.entries(settings)) {
    if (!variable.endsWith('LISTEN_ADDRESS') || address === null) continue;
    const beyond = !isLoopback(String(address).replace(/:\d+$/, ''));
    if (beyond) wrong(variable, `must be a loopback address, unless both are configured: ${IDENTIFY}; and ${ENCRYPT}`);
  }
}

function checkJwt(settings: IdentitySettings, wrong: (variable: string, message: string) => void): void {
  const [source, second] = keySourcesIn(settings);
  const kind = kindOfKey(settings);
  for (const variable of source ? [] : (['JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_ALGORITHMS'] as const)) {
    if (settings[variable]?.length) wrong(variable, `needs one of ${KEY_SOURCES.join(', ')}`);
  }
  if (second) wrong(second, `cannot be set beside ${source}: keys come from one place`);
  if (settings.JWT_ALGORITHMS.some((algorithm) => !ALGORITHMS[kind].includes(algorithm))) {
    wrong('JWT_ALGORITHMS', `must be of ${ALGORITHMS[kind].join(', ')} with a ${kind} key`);
  } else if (settings.JWT_SECRET !== null && Buffer.byteLength(settings.JWT_SECRET) < minSecretBytes(settings)) {
    wrong('JWT_SECRET', `must have at least ${minSecretBytes(settings)} bytes`);
  }
}
