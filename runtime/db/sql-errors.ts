import { BaseError, ConnectionError } from 'sequelize';

// https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html
const DUPLICATE_ENTRY = 1062;
const LOCK_WAIT_TIMEOUT = 1205;
const DEADLOCK = 1213;
const SUBQUERY_OF_ROWS = 1242;
const READ_ONLY = [1290, 1836];
// The server is there but cannot do the work now: too many connections, shutting down, disk or table full, read-only, killed.
const CANNOT_NOW = new Set([1021, 1040, 1053, 1114, 1203, 1317, 1927, 3024, ...READ_ONLY, LOCK_WAIT_TIMEOUT, DEADLOCK]);

/** COMMIT was sent and its answer did not come: nobody knows yet whether the transaction was committed. `cause` has why. */
export class UnknownCommitError extends Error {
  override readonly name = 'UnknownCommitError';
}

interface DriverError {
  errno?: number;
  code?: string;
  fatal?: boolean;
  sqlMessage?: string;
}

function driverErrorIn(error: unknown): DriverError | undefined {
  // Sequelize's own errors wrap the driver's; those of `statements` are the driver's.
  if (error instanceof BaseError) return (error as BaseError & { parent?: DriverError }).parent;
  const driverError = error as DriverError | undefined;
  return error instanceof Error && (driverError?.fatal !== undefined || driverError?.errno !== undefined)
    ? driverError
    : undefined;
}

/**
 * The name of the unique key that an INSERT or UPDATE hit, without its table (`PRIMARY`, `uk_order_no`); undefined for any
 * other error. Read from the server's message: MySQL says `t_order.uk_order_no`, MariaDB `uk_order_no`, and Sequelize's
 * parsed values are split on `-`.
 */
export function duplicateKey(error: unknown): string | undefined {
  const driverError = driverErrorIn(error);
  if (driverError?.errno !== DUPLICATE_ENTRY) return undefined;
  return /for key '(?:[^'.]*\.)?([^']+)'$/.exec(driverError.sqlMessage ?? '')?.[1];
}

/** The server rolled the transaction back, since it and another waited for each other: the whole of it can be run again. */
export function isDeadlock(error: unknown): boolean {
  return driverErrorIn(error)?.errno === DEADLOCK;
}

/** The server is read-only, as a copy is, or one that is to be replaced. */
export function isReadOnly(error: unknown): boolean {
  return READ_ONLY.includes(driverErrorIn(error)?.errno ?? 0);
}

/** A subquery gave more than one row where one value was wanted. */
export function isSubqueryOfRows(error: unknown): boolean {
  return driverErrorIn(error)?.errno === SUBQUERY_OF_ROWS;
}

/**
 * The server refused, and rolled back what it refused: nothing of it was done. False when the connection was lost or nobody knows, and
 * for errors that are not the database's.
 */
export function wasRolledBack(error: unknown): boolean {
  if (error instanceof ConnectionError) return false;
  const driverError = driverErrorIn(error);
  return (driverError?.errno ?? 0) > 0 && driverError?.fatal !== true;
}

/** The database could not be reached, was lost on the way, or cannot do the work now; later it may. */
export function isDatabaseAway(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof UnknownCommitError) return true;
  const driverError = driverErrorIn(error);
  if (!driverError) return false;
  if (driverError.errno !== undefined && CANNOT_NOW.has(driverError.errno)) return true;
  return driverError.fatal === true || /^(PROTOCOL_|ECONN|EPIPE|ETIMEDOUT)/.test(driverError.code ?? '');
}
