import { randomUUID } from 'node:crypto';
import { execute, select } from '../../runtime/db/statements.ts';
import { Loop } from '../../runtime/lifecycle/loop.ts';
import type { Logger } from '../../runtime/lifecycle/logger.ts';
import type { WorkerGrant, WorkerLease } from '../domain/order-numbers.ts';
import type { OrderDb } from './models.ts';

/** How a worker id is leased. Times in milliseconds. */
export interface WorkerLeaseOptions {
  /** How long a lease lasts without being renewed. It is renewed three times as often. */
  leaseMs: number;
  logger: Logger;
  /** The clock that numbers are made by. Default Date.now. */
  now?: () => number;
}

/**
 * A worker id that no other process has, leased in `t_worker_lease`. The row also holds a bound that no number's time exceeds, so
 * that the next holder, whatever its clock says, starts after it.
 */
export class DatabaseWorkerLease implements WorkerLease {
  readonly #db: OrderDb;
  readonly #leaseMs: number;
  readonly #now: () => number;
  readonly #logger: Logger;
  readonly #holder = randomUUID();
  readonly #loop: Loop;
  #grant: WorkerGrant | undefined;
  // By the monotonic clock, counted from before the row was written: certainly not later than the row's own expiry.
  #validUntil = 0;

  constructor(db: OrderDb, { leaseMs, logger, now = Date.now }: WorkerLeaseOptions) {
    this.#db = db;
    this.#leaseMs = leaseMs;
    this.#logger = logger;
    this.#now = now;
    this.#loop = new Loop({ name: 'worker-lease', intervalMs: leaseMs / 3, runOnce: () => this.runOnce(), logger });
  }

  /** Takes a worker id, and keeps it until `release`. */
  async start(): Promise<this> {
    await this.runOnce();
    this.#loop.start();
    return this;
  }

  current(): WorkerGrant | undefined {
    return performance.now() < this.#validUntil ? this.#grant : undefined;
  }

  abandon(): void {
    this.#grant = undefined;
    this.#loop.wake();
  }

  /** Renews the lease, or takes another worker id when there is none. */
  async runOnce(): Promise<boolean> {
    const grant = this.#grant;
    if (!grant || !(await this.#renew(grant))) await this.#acquire();
    return false;
  }

  /** Gives the worker id back. `lastMs`: the time of the last number that was made. */
  async release(lastMs: number): Promise<void> {
    await this.#loop.stop();
    const grant = this.#grant;
    this.#grant = undefined;
    if (!grant) return;
    await execute(
      this.#db.sequelize,
      `UPDATE t_worker_lease SET holder = NULL, expire_time = UTC_TIMESTAMP(3), last_time_ms = ?
        WHERE worker_id = ? AND holder = ?`,
      [Math.max(lastMs, grant.fromMs), grant.worker, this.#holder],
    );
  }

  async #renew(grant: WorkerGrant): Promise<boolean> {
    const sentAt = performance.now();
    const untilMs = Math.max(grant.untilMs, this.#now() + this.#leaseMs);
    const renewed = await execute(
      this.#db.sequelize,
      `UPDATE t_worker_lease SET expire_time = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND, last_time_ms = ?
        WHERE worker_id = ? AND holder = ?`,
      [this.#leaseMs * 1000, untilMs, grant.worker, this.#holder],
    );
    if (renewed === 1 && this.#grant === grant) this.#hold({ ...grant, untilMs }, sentAt);
    return renewed === 1 && this.#grant !== undefined;
  }

  async #acquire(): Promise<void> {
    const sentAt = performance.now();
    const nowMs = this.#now();
    const untilMs = nowMs + this.#leaseMs;
    // A worker whose bound is ahead of our clock would have to wait for it: another one is taken.
    await execute(
      this.#db.sequelize,
      `UPDATE t_worker_lease
        SET holder = ?, expire_time = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND, last_time_ms = ?
        WHERE expire_time <= UTC_TIMESTAMP(3) AND last_time_ms < ? ORDER BY worker_id LIMIT 1`,
      [this.#holder, this.#leaseMs * 1000, untilMs, nowMs],
    );
    const [row] = await select<{ worker_id: number }>(
      this.#db.sequelize,
      'SELECT worker_id FROM t_worker_lease WHERE holder = ? AND last_time_ms = ?',
      [this.#holder, untilMs],
    );
    if (!row) throw new Error('every worker id is leased, or was used at a later time than this clock shows');
    this.#hold({ worker: row.worker_id, fromMs: nowMs, untilMs }, sentAt);
    this.#logger.info({ worker: row.worker_id }, 'worker id leased');
  }

  #hold(grant: WorkerGrant, sentAt: number): void {
    this.#grant = grant;
    this.#validUntil = sentAt + this.#leaseMs;
  }
}
