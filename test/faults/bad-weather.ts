import { setTimeout as sleep } from 'node:timers/promises';
import type { Stage } from './kind.ts';
import type { TcpLink, Weather } from './tcp-link.ts';

/** The weather turns bad and good again under load. What was lost never arrives: the connections that it was lost on are cut. */
export async function weather(
  { people }: Stage,
  links: TcpLink[],
  bad: Weather,
  { times, forMs }: { times: number; forMs: number },
): Promise<number> {
  const before = hits(links);
  const load = people.shop(8);
  try {
    for (let i = 0; i < times; i++) {
      await sleep(500);
      for (const link of links) link.turn(bad);
      await sleep(forMs);
      // Little is sent where the services send much together.
      if (bad.resets) await until(() => hits(links) - before >= 3, 'nothing was reset');
      for (const link of links) link.turn();
      if (!bad.resets) for (const link of links) link.cut();
    }
  } finally {
    await load.stop();
  }
  return happened(hits(links) - before) && (bad.resets ? hits(links) - before : times * links.length);
}

/** What is on its way when the latency ends arrives late all the same, in its order. */
export async function latency({ people }: Stage, links: TcpLink[], delayMs: number): Promise<number> {
  const before = hits(links);
  const load = people.shop(8);
  try {
    for (const link of links) link.turn({ delayMs });
    await sleep(3000 + delayMs);
    for (const link of links) link.turn();
  } finally {
    await load.stop();
  }
  happened(hits(links) - before);
  return links.length;
}

const hits = (links: TcpLink[]) => links.reduce((sum, link) => sum + link.hits, 0);

/** @throws when nothing did. */
export function happened(faults: number): number {
  if (faults === 0) throw new Error('the fault did not happen');
  return faults;
}

/** @throws when it is not so within half a minute. */
export async function until(isSo: () => boolean, otherwise: string): Promise<void> {
  for (const end = performance.now() + 30_000; performance.now() < end; await sleep(10)) if (isSo()) return;
  throw new Error(otherwise);
}
