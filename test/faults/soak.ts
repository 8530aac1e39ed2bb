// npm run soak [-- --minutes N] [--seed N]
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type CommandContext, runCommand } from '../../dev/run-command.ts';
import { People } from './people.ts';
import { seeded } from './random.ts';
import { fillShelves } from './run-kind.ts';
import { type Lasting, SoakMeter } from './soak-meter.ts';
import type { Weather } from './tcp-link.ts';
import { settle, violationsOf } from './verdict.ts';
import { type Place, startWorld, type World } from './world.ts';

const PEOPLE = 8;
const WARM_UP_S = 8;
const FAULT_MS = 1000;
/** How long load may take to be half of what it usually is again. */
const RECOVERY_S = 5;

/** Minutes. In less, processes are still warming up: their growth is shown, and proves nothing. */
const SHORT_MIN = 3;

const weathers: Record<string, Weather> = {
  'is slow': { delayMs: 300 },
  'loses answers': { loseAnswers: true },
  'is half-open': { silent: true },
  'is down': { down: true },
  'resets connections': { resets: 0.05 },
};

const { values: options } = parseArgs({ options: { minutes: { type: 'string' }, seed: { type: 'string' } } });
const minutes = Number(options.minutes ?? 30);
const seed = Number(options.seed ?? Math.floor(Math.random() * 2 ** 31));
if (!(minutes > 0) || !Number.isFinite(seed)) {
  process.stderr.write('soak: --minutes and --seed take a number, minutes more than 0\n');
  process.exit(2);
}

await runCommand({ name: 'soak', run, interruptedStatus: 130 });

async function run({ cleanup, print }: CommandContext): Promise<number> {
  print(`seed ${seed}, ${minutes} min`);
  const random = seeded(seed);
  const world = await startWorld(random, print);
  cleanup.defer(() => world.close());
  const people = new People(world, await fillShelves(world), random);
  cleanup.defer(() => people.close());
  // The second of each service is never killed: what grows, grows there.
  const lasting = await Promise.all([world.orders[1]!, world.stocks[1]!].map((place) => watchHeap(place, cleanup)));
  const meter = new SoakMeter(lasting, () => people.intents.length);
  const violations: string[] = [];

  const end = performance.now() + minutes * 60_000;
  const load = people.shop(PEOPLE);
  await calmFor(meter, WARM_UP_S);
  let faults = 0;
  while (performance.now() < end) {
    const usual = meter.usual;
    const name = await strike(world, random, meter);
    faults++;
    const recoveredS = await recovery(meter, usual);
    if (recoveredS === undefined) violations.push(`${name}: not half of ${usual.toFixed(0)} purchases/s within 5 s`);
    const leftS = Math.max(0, Math.round((end - performance.now()) / 1000));
    print(`${leftS} s left  ${name}; well after ${recoveredS ?? `more than ${RECOVERY_S}`} s  (${meter.line})`);
    await calmFor(meter, 1 + Math.floor(random() * 3));
  }
  await load.stop();

  const settledMs = await settle(world);
  if (settledMs === undefined) violations.push('did not settle');
  const { summary, violations: grown } = meter.growth();
  if (minutes >= SHORT_MIN) violations.push(...grown);
  violations.push(...people.violations, ...(await violationsOf(world, people.intents)));
  print(`${faults} faults, ${people.requests} requests, ${await world.orderDb.Order.count()} orders`);
  print(`usually ${meter.usual.toFixed(0)} purchases/s; ${summary.join('; ')}`);
  print(`settled after ${Math.round(settledMs ?? Infinity)} ms; violations: ${violations.length}`);
  violations.slice(0, 20).forEach((violation) => print(`  ${violation}`));
  return violations.length > 0 ? 1 : 0;
}

async function watchHeap(place: Place, cleanup: CommandContext['cleanup']): Promise<Lasting> {
  const folder = await mkdtemp(join(tmpdir(), 'ordersystem-soak-'));
  cleanup.defer(() => rm(folder, { recursive: true }));
  const heapFile = join(folder, 'heap');
  await place.restart({ heapFile });
  return { pid: place.process.pid, heapFile };
}

async function calmFor(meter: SoakMeter, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    await sleep(1000);
    await meter.sample(true);
  }
}

/** Makes something go wrong for a second. Returns what. */
async function strike({ orders, stocks }: World, random: () => number, meter: SoakMeter): Promise<string> {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  if (random() < 0.4) {
    const victim = pick([orders[0]!, stocks[0]!]);
    await killAndRestart(victim);
    await meter.sample(false);
    return `${victim.name} is killed`;
  }
  const place = pick([...orders, ...stocks]);
  const isDatabase = random() < 0.5;
  const link = isDatabase ? place.databaseLink : place.link;
  const [what, weather] = pick(Object.entries(weathers));
  link.turn(weather);
  await sleep(FAULT_MS);
  link.turn();
  // What was swallowed is missing from the stream: TCP would never go on after that.
  if (weather.silent || weather.loseAnswers) link.cut();
  await meter.sample(false);
  return `the way ${isDatabase ? `from ${place.name} to its database` : `to ${place.name}`} ${what}`;
}

async function killAndRestart(victim: Place): Promise<void> {
  await victim.process.kill();
  await sleep(FAULT_MS);
  await victim.start();
}

/** Seconds until people buy as they usually do, half of it at least. Undefined: not in time. */
async function recovery(meter: SoakMeter, usual: number): Promise<number | undefined> {
  for (let second = 1; second <= RECOVERY_S; second++) {
    await sleep(1000);
    if ((await meter.sample(false)) >= usual / 2) return second;
  }
  return undefined;
}
