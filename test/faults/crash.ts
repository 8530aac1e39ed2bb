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

/** A crash at each step of each service, and a second one at the same step while it recovers. */
export const crashes: Kind = {
  name: 'crash',
  cases: [...casesOf('order-svc', orderSteps), ...casesOf('stock-svc', stockSteps)],
};

function casesOf(service: ServiceName, steps: readonly Step[]): Case[] {
  return steps.flatMap((step) =>
    (['start', 'end'] as const).flatMap((at) =>
      (['SIGKILL', 'SIGSTOP'] as const).map((fault): Case => {
        const verb = fault === 'SIGKILL' ? 'dies, and again while it recovers,' : 'stands still past every lease';
        return {
          name: `${service} ${verb} at the ${at} of ${step}`,
          quick: fault === 'SIGKILL' && at === 'end',
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
  await victim.restart({ crashAt: `${step}:${at}:${nth}:${fault}` });
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
    await victim.start({ crashAt: `${step}:${at}:1:${fault}` });
    const again = await Promise.race([victim.crashed.then(() => true), sleep(2000, false)]);
    if (again) {
      await victim.process.gone;
      await victim.start();
    }
    return again ? 2 : 1;
  } finally {
    await load.stop();
    await provoked;
  }
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
