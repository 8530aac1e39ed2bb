import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { createDatabase, dropDatabase } from '../../dev/database/create-database.ts';
import { removeStream, useBroker } from '../support/broker.ts';
import { EventFeed } from '../support/event-feed.ts';
import { until } from '../support/expect.ts';
import { serverUrl } from '../support/setup.ts';
import { SqlProxy } from '../support/sql-proxy.ts';

describe('the points of the example', function () {
  this.timeout(60_000);
  const nats = useBroker();
  const name = `test_points_${randomUUID().slice(0, 8)}`;
  let db: Pool;
  let proxy: SqlProxy & { url: string };
  let feed: EventFeed;
  let processes: ChildProcess[];

  beforeEach(async () => {
    const url = await createDatabase(serverUrl(), name);
    db = createPool({ uri: url });
    proxy = await SqlProxy.to(url);
    feed = await EventFeed.to(nats.broker.url);
    processes = [];
  });
  afterEach(async () => {
    for (const one of processes) one.kill('SIGKILL');
    await Promise.all(processes.map(exitOf));
    await feed.close();
    await removeStream(nats.broker.url);
    await proxy.close();
    await db.end();
    await dropDatabase(serverUrl(), name);
  });

  function start(): ChildProcess {
    const env = { PATH: process.env['PATH'], DATABASE_URL: proxy.url, EVENTS_URL: nats.broker.url };
    const child = spawn(process.execPath, ['examples/points/main.ts'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    processes.push(child);
    return child;
  }
  async function exitOf(child: ChildProcess): Promise<unknown> {
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return child.exitCode ?? child.signalCode;
  }
  async function points(userId: number): Promise<number> {
    const [rows] = await db
      .query<RowDataPacket[]>('SELECT points FROM t_points WHERE user_id = ?', [userId])
      .catch(() => [[]]);
    return Number(rows[0]?.['points'] ?? 0);
  }
  const hasPoints = (userId: number, count: number) =>
    until(`user ${userId} has ${count} points`, async () => (await points(userId)) === count, 20_000);

  it('are given for an order once, however often it is told, and taken back once', async () => {
    start();
    await feed.tell({ orderNo: '1', userId: 7, totalCents: 1250 });
    await feed.tell({ orderNo: '1', userId: 7, totalCents: 1250 });
    await feed.tell({ orderNo: '2', userId: 7, totalCents: 800, format: 'protobuf' });
    await feed.tell({ orderNo: '1', userId: 7, totalCents: 1250 });
    await hasPoints(7, 20);
    for (let i = 0; i < 3; i++) await feed.tell({ orderNo: '2', userId: 7, totalCents: 800, type: 'ORDER_CANCELLED' });
    await feed.tell({ orderNo: '3', userId: 8, totalCents: 100 });
    await hasPoints(8, 1);
    assert.equal(await points(7), 12);
  });

  for (const [when, act] of [
    ['before it is committed', () => proxy.hold(/COMMIT/)],
    ['after it was committed, before it knows', () => proxy.orphan(/COMMIT/)],
  ] as const) {
    it(`are right when the process is killed ${when}`, async () => {
      const victim = start();
      await feed.tell({ orderNo: '0', userId: 6, totalCents: 100 });
      await hasPoints(6, 1);
      const commit = act();
      for (let i = 1; i <= 50; i++) await feed.tell({ orderNo: String(i), userId: 7, totalCents: 100 });
      await commit.reached;
      victim.kill('SIGKILL');
      assert.equal(await exitOf(victim), 'SIGKILL');
      commit.release();
      start();
      await hasPoints(7, 50);
      await feed.tell({ orderNo: '51', userId: 8, totalCents: 100 });
      await hasPoints(8, 1);
      assert.equal(await points(7), 50);
    });
  }

  it('are right when it is stopped, and two are at work', async () => {
    const first = start();
    start();
    for (let i = 1; i <= 100; i++) {
      await feed.tell({ orderNo: String(i), userId: 7, totalCents: 100 });
      if (i === 50) {
        await until('some were given', async () => (await points(7)) > 0, 20_000);
        first.kill('SIGTERM');
      }
    }
    assert.equal(await exitOf(first), 0);
    await hasPoints(7, 100);
    await feed.tell({ orderNo: '101', userId: 8, totalCents: 100 });
    await hasPoints(8, 1);
    assert.equal(await points(7), 100);
  });
});
