import { setTimeout as sleep } from 'node:timers/promises';
import { connectStockService } from '../../client/clients.ts';
import { orderSteps } from '../../order-svc/domain/steps.ts';
import { stockSteps } from '../../stock-svc/domain/steps.ts';
import type { Case, Kind, Stage } from './kind.ts';
import type { Place, ServiceName } from './world.ts';

type Step = (typeof orderSteps)[number] | (typeof stockSteps)[number];
type Fault = 'SIGKILL' | 'SIGSTOP';

/** What has to go wrong for a process to come to a step that it does not come to by itself. */
const provocations: Partial<Record<`${ServiceName} ${Step}`, (stage: Stage) => Promise<void>>> = {
  'order-svc compensate.restore': loseDeductAnswers,
  'order-svc compensate.unclaim': loseDeductAnswers,
  'order-svc stage-restores': stockAway,
  'order-svc event.give-back': stockAway,
  'stock-svc restore': loseDeductAnswers,
  'stock-svc receive-stock': takeGoodsIn,
  'stock-svc put-products': takeGoodsIn,
};

/** What is left half done when order-svc dies at the end of a step, and where whoever takes it up dies next. */
const recoveries: Partial<Record<Step, readonly `${ServiceName} ${Step}`[]>> = {
  claim: ['order-svc stage-restores', 'stock-svc restore'],
  deduct: ['order-svc stage-restores', 'order-svc event.handle', 'order-svc events.settle', 'stock-svc restore'],
  persist: ['order-svc pre-check', 'order-svc events.lease', 'order-svc event.handle', 'order-svc events.settle'],
  'compensate.restore': ['order-svc stage-restores', 'order-svc event.handle', 'stock-svc restore'],
  'compensate.unclaim': ['order-svc claim'],
  'stage-restores': [
    'order-svc events.lease',
    'order-svc event.handle',
    'order-svc events.settle',
    'stock-svc restore',
  ],
  pay: ['order-svc events.lease', 'order-svc event.handle'],
  cancel: ['order-svc events.lease', 'order-svc event.handle', 'stock-svc restore'],
  expire: ['order-svc event.handle', 'stock-svc restore'],
  'events.lease': ['order-svc event.handle', 'order-svc events.settle'],
  'event.handle': ['order-svc events.lease', 'order-svc events.settle'],
};

/** Where most is left behind. */
const QUICK: readonly string[] = [
  ...['order-svc claim', 'order-svc deduct', 'order-svc persist', 'order-svc cancel', 'order-svc event.handle'],
  'stock-svc restore',
];

/** How long events are kept, in milliseconds, once the first case has had them deleted. */
const RETENTION_MS = 500;

/** A crash at each step of each service, and a second one at the same step, or at another one, while it recovers. */
export const crashes: Kind = {
  name: 'crash',
  // From `events.delete` on the audit forgives an old order that it has no events: it comes last.
  cases: [...casesOf('stock-svc', stockSteps), ...recoveryCases(), ...casesOf('order-svc', orderSteps)],
};

function recoveryCases(): Case[] {
  return Object.entries(recoveries).flatMap(([first, seconds]) =>
    seconds.map((second): Case => {
      const [service, step] = second.split(' ') as [ServiceName, Step];
      return {
        name: `order-svc dies at the end of ${first}, and ${service} at the end of ${step} while it recovers`,
        quick: first === 'deduct' && step === 'stage-restores',
        run: (stage) => crashInRecovery(stage, first as Step, service, step),
      };
    }),
  );
}

function casesOf(service: ServiceName, steps: readonly Step[]): Case[] {
  return steps.flatMap((step) =>
    (['start', 'end'] as const).flatMap((at) =>
      (['SIGKILL', 'SIGSTOP'] as const).map((fault): Case => {
        const verb = fault === 'SIGKILL' ? 'dies, and again while it recovers,' : 'stands still past every lease';
        return {
          name: `${service} ${verb} at the ${at} of ${step}`,
          quick: fault === 'SIGKILL' && at === 'end' && QUICK.includes(`${service} ${step}`),
          run: (stage) => crash(stage, service, step, at, fault),
        };
      }),
    ),
  );
}

async function crash(stage: Stage, service: ServiceName, step: Step, at: 'start' | 'end', fault: Fault) {
  const { world, people } = stage;
  const victim = service === 'order-svc' ? world.orders[0]! : world.stocks[0]!;
  const provoke = provocations[`${service} ${step}`];
  const nth = step.startsWith('event') ? 1 : 2;
  const env: Record<string, string> = step === 'events.delete' ? { EVENT_RETENTION_MS: String(RETENTION_MS) } : {};
  if (step === 'events.delete') world.retentionMs = RETENTION_MS;
  await victim.restart({ crashAt: `${step}:${at}:${nth}:${fault}`, env });
  const load = people.shop(8);
  const provoked = provoke?.(stage);
  try {
    await reached(victim, `${step} ${at}`);
    if (fault === 'SIGSTOP') {
      // Past the claim's lease, the event's and the worker id's.
      await sleep(3500);
      victim.process.signal('CONT');
      return 1;
    }
    // The second one: whoever starts again comes to the same step, in the load that goes on.
    await victim.process.gone;
    await victim.start({ crashAt: `${step}:${at}:1:${fault}`, env });
    return (await bringBack(victim, 2000)) ? 2 : 1;
  } finally {
    await load.stop();
    await provoked;
  }
}

/** Both order-svc, or both stock-svc, die where they come to while they take up what the first one has left. */
async function crashInRecovery(stage: Stage, first: Step, service: ServiceName, step: Step): Promise<number> {
  const { world, people } = stage;
  const [victim, other] = world.orders as [Place, Place];
  const second = { crashAt: `${step}:end:1:SIGKILL` };
  const waiting = service === 'order-svc' ? [other] : world.stocks;
  for (const one of waiting) await one.restart({ ...second, crashesOnSignal: true });
  await victim.restart({ crashAt: `${first}:end:2:SIGKILL` });
  const load = people.shop(8);
  const provoked = provocations[`order-svc ${first}`]?.(stage);
  try {
    await reached(victim, `the end of ${first}`);
    await victim.process.gone;
    for (const one of waiting) one.process.signal('USR2');
    await victim.start(service === 'order-svc' ? second : {});
    const doomed = service === 'order-svc' ? [victim, other] : waiting;
    await Promise.race(doomed.map((one) => reached(one, `the end of ${step}`)));
    const crashed = await Promise.all(doomed.map((one) => bringBack(one, 1000)));
    return 1 + crashed.filter(Boolean).length;
  } finally {
    await load.stop();
    await provoked;
  }
}

/** Starts it again with nothing wrong, when it has crashed within that time or has not. Returns whether it has. */
async function bringBack(place: Place, withinMs: number): Promise<boolean> {
  const crashed = await Promise.race([place.crashed.then(() => true), sleep(withinMs, false)]);
  if (!crashed) await place.restart();
  else {
    await place.process.gone;
    await place.start();
  }
  return crashed;
}

/** Resolves when the process has crashed. */
async function reached(victim: Place, where: string): Promise<void> {
  const late = sleep(15_000, 'late', { ref: false });
  if ((await Promise.race([victim.crashed, late])) === 'late') throw new Error(`${victim.name} never came to ${where}`);
}

/** New products and their goods, each receipt again until it is answered. */
async function takeGoodsIn({ world, random }: Stage): Promise<void> {
  const { client, close } = connectStockService(world.stocks[0]!.link.address);
  for (let i = 0; i < 5; i++) {
    const productId = 1000n + BigInt(Math.floor(random() * 1e9));
    const products = [{ productId, title: 'New', unitPriceCents: 250n }];
    const receipt = { receiptNo: `r-${productId}`, items: [{ productId, quantity: 5n }] };
    await untilDone(() => client.putProducts({ products }, { timeoutMs: 1000 }));
    await untilDone(() => client.receiveStock(receipt, { timeoutMs: 1000 }));
  }
  close();
}

async function untilDone(call: () => Promise<unknown>): Promise<void> {
  for (const end = performance.now() + 30_000; performance.now() < end;) {
    const failed = await call().then(
      () => false,
      () => true,
    );
    if (!failed) return;
    await sleep(50);
  }
  throw new Error('stock-svc never answered');
}

/** Deducts are done, and nobody is told. */
async function loseDeductAnswers({ world }: Stage): Promise<void> {
  for (const { link } of world.stocks) link.turn({ loseAnswers: true });
  await sleep(1200);
  for (const { link } of world.stocks) {
    link.turn();
    link.cut();
  }
}

/** stock-svc is done, and cannot be reached for longer than a compensation tries. */
async function stockAway({ world }: Stage): Promise<void> {
  for (let i = 0; i < 2; i++) {
    for (const { link } of world.stocks) link.turn({ loseAnswers: true });
    await sleep(2500);
    for (const { link } of world.stocks) {
      link.turn();
      link.cut();
    }
    await sleep(500);
  }
}
