import { setTimeout as sleep } from 'node:timers/promises';
import { keepTrying } from './keep-trying.ts';
import type { Addresses } from '../rpc/doors.ts';
import type { Logger } from './logger.ts';

/** How a service starts. */
export interface StartOptions {
  /** Gets what calls need: tries it again until it works. It must leave nothing behind when it fails. */
  prepare: () => Promise<void>;
  /** Opens the ports. Resolves to their addresses. */
  listen: () => Promise<Addresses>;
  /** Ends the start. */
  signal: AbortSignal;
  logger: Logger;
}

/** Less than any probe allows that takes a closed port for a dead process. */
const PATIENCE_MS = 5_000;

/**
 * Prepares, then opens the port: callers take an open one for a server that can serve. But when the first try fails, or takes longer than
 * 5 s, the port is opened before that, so that health tells a process that waits from one that is dead. Resolves to the addresses.
 *
 * @throws the signal's reason when it is aborted before it has started, and what `listen` throws.
 */
export async function startServing({ prepare, listen, signal, logger }: StartOptions): Promise<Addresses> {
  let opened: Promise<Addresses> | undefined;
  const open = () => (opened ??= listenAndSay(listen, logger));
  const prepared = keepTrying({ run: prepare, failure: 'waiting for the database', onFailure: open, signal, logger });
  await Promise.race([prepared, sleep(PATIENCE_MS, undefined, { ref: false })]);
  const [addresses] = await Promise.all([open(), prepared]);
  logger.info(lineOf(addresses), 'started');
  return addresses;
}

async function listenAndSay(listen: () => Promise<Addresses>, logger: Logger): Promise<Addresses> {
  const addresses = await listen();
  logger.info(lineOf(addresses), 'listening');
  return addresses;
}

function lineOf({ address, httpAddress }: Addresses): object {
  return { address, http_address: httpAddress ?? undefined };
}
