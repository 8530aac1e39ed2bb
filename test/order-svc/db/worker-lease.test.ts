import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { DatabaseWorkerLease } from '../../../order-svc/db/worker-lease.ts';
import { WORKERS } from '../../../order-svc/domain/order-no.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { databaseUrlOf, useSystem } from '../../support/system.ts';

const LEASE_MS = 60_000;

describe('the lease of a worker id', () => {
  const system = useSystem();
  let now: number;
  const open: DatabaseWorkerLease[] = [];

  beforeEach(() => (now = Date.now()));
  afterEach(async () => {
    for (const lease of open.splice(0)) await lease.release(0);
    await system.orderDb.WorkerLease.update(
      { holder: null, expire_time: new Date(0), last_time_ms: '0' },
      { where: {} },
    );
  });

  const lease = () => {
    const one = new DatabaseWorkerLease(system.orderDb, { leaseMs: LEASE_MS, logger: silentLogger, now: () => now });
    open.push(one);
    return one;
  };
  /** A lease that is held, and renewed by hand only. */
  const leased = async () => {
    const one = lease();
    await one.runOnce();
    return one;
  };
  const row = (worker: number) => system.orderDb.WorkerLease.findByPk(worker, { raw: true, rejectOnEmpty: true });
  const expire = () => system.orderDb.WorkerLease.update({ expire_time: new Date(0) }, { where: {} });

  it('gives each holder another id', async () => {
    const leases = await Promise.all(Array.from({ length: 20 }, () => leased()));
    assert.equal(new Set(leases.map((one) => one.current()!.worker)).size, 20);
  });

  it('writes down a bound that no number exceeds, and moves it with each renewal', async () => {
    const one = await leased();
    const { worker, untilMs } = one.current()!;
    assert.equal((await row(worker)).last_time_ms, String(untilMs));
    now += 1000;
    await one.runOnce();
    assert.equal(one.current()!.worker, worker);
    assert.equal(one.current()!.untilMs, untilMs + 1000);
    assert.equal((await row(worker)).last_time_ms, String(untilMs + 1000));
  });

  it('starts after the last time of the holder before, whose id it does not take while its own clock is behind', async () => {
    const first = await leased();
    const { worker, untilMs } = first.current()!;
    await expire();
    const behind = await leased();
    assert.notEqual(behind.current()!.worker, worker);
    await behind.release(now);
    now = untilMs + 1;
    const second = await leased();
    assert.equal(second.current()!.worker, worker);
    assert.ok(second.current()!.fromMs > untilMs);
  });

  it('is lost to whoever takes it after it has expired; then another id is taken', async () => {
    const one = await leased();
    const { worker } = one.current()!;
    await system.orderDb.WorkerLease.update({ holder: 'somebody' }, { where: { worker_id: worker } });
    await one.runOnce();
    assert.notEqual(one.current()!.worker, worker);
  });

  it('counts for nothing once its time is over without a renewal', async () => {
    const one = new DatabaseWorkerLease(system.orderDb, { leaseMs: 1, logger: silentLogger, now: () => now });
    await one.runOnce();
    while (one.current()) await new Promise(setImmediate);
    assert.equal(one.current(), undefined);
  });

  it('is abandoned for another id when the clock has made it useless', async () => {
    const one = await leased();
    const { worker } = one.current()!;
    now -= 600_000;
    one.abandon();
    assert.equal(one.current(), undefined);
    await one.runOnce();
    assert.notEqual(one.current()!.worker, worker);
    assert.equal(one.current()!.fromMs, now);
  });

  it('gives the id back at once when it is released, with the time of the last number', async () => {
    const one = await leased();
    const { worker } = one.current()!;
    await one.release(now + 5);
    assert.equal((await row(worker)).last_time_ms, String(now + 5));
    now += 6;
    assert.equal((await leased()).current()!.worker, worker);
  });

  it('cannot be had when every id is taken', async () => {
    const far = new Date(Date.now() + 3_600_000);
    await system.orderDb.WorkerLease.update({ holder: 'somebody', expire_time: far }, { where: {} });
    await assert.rejects(lease().runOnce(), /every worker id is leased/);
    assert.equal(await system.orderDb.WorkerLease.count(), WORKERS);
  });

  it('keeps 1,000 numbers from 8 processes apart, each with the gene of its user', async () => {
    const run = promisify(execFile);
    const url = databaseUrlOf(system.orderDb);
    const outputs = await Promise.all(
      Array.from({ length: 8 }, () => run(process.execPath, ['test/support/mint-numbers.ts', url, '125'])),
    );
    const lines = outputs.flatMap(({ stdout }) => stdout.split('\n').map((line) => line.split(' ').map(BigInt)));
    assert.equal(lines.length, 1000);
    assert.equal(new Set(lines.map(([, orderNo]) => orderNo)).size, 1000);
    assert.ok(lines.every(([userId, orderNo]) => orderNo! % 256n === userId! % 256n));
  });
});
