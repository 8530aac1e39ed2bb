import { ConnectError, Code } from '@connectrpc/connect';
import { ConfigError } from '../runtime/lifecycle/config.ts';
import { isDatabaseAway } from '../runtime/db/sql-errors.ts';
import { reasonOf } from '../runtime/rpc/errors.ts';

/** Exit statuses, the same for every command: a cron job can go by them. */
export const status = {
  /** Done; nothing is wrong. */
  fine: 0,
  /** Something is wrong: a rule is broken, or what was asked for is not there, or was refused. */
  wrong: 1,
  /** It could not be found out: the command line or the configuration is wrong, or somebody cannot be reached. */
  cannot: 2,
} as const;

/** Ends the command with a message for whoever typed it. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly status: number;

  constructor(exitStatus: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = exitStatus;
  }
}

// Not an answer to what was asked.
const refusals = new Set(['INVALID_REQUEST', 'UNAUTHENTICATED', 'PERMISSION_DENIED']);
const faults = new Set([Code.Unavailable, Code.DeadlineExceeded, Code.Internal]);

/** What to say of an error, and with which status to end. Nothing of a URL's password is in any of them. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof ConfigError) return new Failure(status.cannot, error.message);
  if (error instanceof ConnectError) {
    const reason = reasonOf(error);
    if (reason === undefined) return new Failure(status.cannot, `STOCK_TARGET: no answer (${error.rawMessage})`);
    const cannot = faults.has(error.code) || refusals.has(reason);
    return new Failure(cannot ? status.cannot : status.wrong, `stock-svc answered ${reason}: ${error.rawMessage}`);
  }
  if (isDatabaseAway(error)) return new Failure(status.cannot, `the database went away: ${String(error)}`);
  return new Failure(status.cannot, error instanceof Error ? (error.stack ?? error.message) : String(error));
}
