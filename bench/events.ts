// How fast events get to a broker: at 64 callers, and after an outage: node bench/events.ts [SECONDS OF OUTAGE]
import { type ConsumerMessages, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { Broker } from '../dev/broker/start-broker.ts';
import { createDatabase } from '../dev/database/create-database.ts';
import { startDatabase } from '../dev/database/start-database.ts';
import { type CommandContext, runCommand } from '../dev/run-command.ts';
import { ServiceProcess } from '../dev/service-process.ts';
import { type OrderDb, openOrderDb } from '../order-svc/db/models.ts';
import { EVENT_STREAM } from '../order-svc/outbox/event-stream.ts';
import { select } from '../runtime/db/statements.ts';
import { fillShelves } from './stack.ts';
import { usageOf } from './usage.ts';
import { percentile, Worker } from './worker.ts';

const OUTAGE_MS = Number(process.argv[2] ?? 60) * 1000;
const WORK = { job: 'fresh', callers: 64 };

await runCommand({ name: 'events', run, interruptedStatus: 130 });

async function run({ cleanup, print }: CommandContext): Promise<number> {
  const server = await startDatabase({ durability: 'full', log: print });
  cleanup.defer(() => server.stop());
  const broker = cleanup.adopt(await Broker.start({ log: print }), (one) => one.stop());
  const start = (name: 'order-svc' | 'stock-svc', env: Record<string, string>) =>
    cleanup.adopt(new ServiceProcess({ name, env: { LISTEN_ADDRESS: '127.0.0.1:0', ...env } }), (one) => one.stop());
  const stockSvc = start('stock-svc', { DATABASE_URL: await createDatabase(server.url, 'bench_stock') });
  const orderUrl = await createDatabase(server.url, 'bench_order');
  const stockAddress = await stockSvc.ready;
  const orderSvc = start('order-svc', { DATABASE_URL: orderUrl, STOCK_TARGET: stockAddress, EVENTS_URL: broker.url });
  const db = openOrderDb({ url: orderUrl });
  cleanup.defer(() => db.sequelize.close());
  const load = cleanup.adopt(new Worker('load-worker.ts', [await orderSvc.ready]), (one) => one.stop());
  await fillShelves(stockAddress);

  await load.run({ ...WORK, durationMs: 3000 });
  await untilAllSent(db);
  const from = await lastOf(broker);
  const { count, durationMs } = await load.run({ ...WORK, durationMs: 10_000 });
  await untilAllSent(db);
  const latencies = await latenciesFrom(broker, from + 1);
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(latencies, share));
  print(
    `${WORK.callers} callers: ${Math.round(count / (durationMs / 1000))} events/s; written to stored: p50 ${p50} ms, p99 ${p99} ms`,
  );

  await broker.kill();
  await load.run({ ...WORK, durationMs: OUTAGE_MS });
  const waiting = await countWaiting(db);
  const before = await usageOf({ name: '', pid: orderSvc.pid });
  await broker.startAgain();
  const startMs = performance.now();
  await untilAllSent(db);
  const seconds = (performance.now() - startMs) / 1000;
  const cpuUs = ((await usageOf({ name: '', pid: orderSvc.pid })).cpuUs - before.cpuUs) / waiting;
  print(
    `outage of ${OUTAGE_MS / 1000} s: ${waiting} events waited; sent ${seconds.toFixed(1)} s after the broker was back`,
  );
  print(`that is ${Math.round(waiting / seconds)} events/s, ${cpuUs.toFixed(0)} µs of order-svc's CPU for each`);
  return 0;
}

async function countWaiting({ sequelize }: OrderDb): Promise<number> {
  const [row] = await select<{ n: number }>(
    sequelize,
    "SELECT COUNT(*) AS n FROM t_event_record WHERE status = 'WAIT'",
    [],
  );
  return Number(row!.n);
}

async function untilAllSent(db: OrderDb): Promise<void> {
  while ((await select(db.sequelize, "SELECT 1 FROM t_event_record WHERE status = 'WAIT' LIMIT 1", [])).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function lastOf({ url }: Broker): Promise<number> {
  const connection = await connect({ servers: url });
  const { state } = await (await jetstreamManager(connection)).streams.info(EVENT_STREAM);
  await connection.close();
  return state.last_seq;
}

/** Milliseconds from the transaction that writes each event, by the database's clock, until the broker stored it, ascending. */
async function latenciesFrom(broker: Broker, first: number): Promise<number[]> {
  const last = await lastOf(broker);
  const connection = await connect({ servers: broker.url });
  const consumer = await jetstream(connection).consumers.get(EVENT_STREAM, { opt_start_seq: first });
  const messages: ConsumerMessages = await consumer.consume();
  const latencies: number[] = [];
  for await (const message of messages) {
    latencies.push(message.info.timestampNanos / 1e6 - Date.parse(message.headers!.get('ce-time')));
    if (message.seq === last) break;
  }
  await connection.close();
  return latencies.map((ms) => Math.round(ms * 10) / 10).sort((a, b) => a - b);
}
