import { connectStockService } from '../../client/clients.ts';
import type { CommandContext } from '../../dev/run-command.ts';
import { NotHereError } from '../../dev/database/server-program.ts';
import type { Case, Kind, Stage } from './kind.ts';
import { People } from './people.ts';
import type { Result } from './table.ts';
import { brokenMeanwhile, settle, violationsOf } from './verdict.ts';
import { startWorld, type World } from './world.ts';

const PRODUCTS = 8;
/** Sold out soon: a refusal is an answer too. */
const FEW = 20n;
const MANY = 1_000_000n;

/** Runs the cases of a kind, one after the other, in one world. What this machine has not the means for is skipped. */
export async function runKind(
  kind: Kind,
  random: () => number,
  { cleanup, print }: Pick<CommandContext, 'cleanup' | 'print'>,
  serverUrl?: string,
): Promise<Result> {
  const result = { name: kind.name, cases: 0, faults: 0, requests: 0, orders: 0, violations: 0, settleMs: 0 };
  if (kind.cases.length === 0) return result;
  const world = await startWorld(random, print, { ...kind, serverUrl }).catch(unlessNotHere);
  if (world instanceof NotHereError) {
    kind.cases.forEach(({ name }) => print(`skip  ${name}: ${world.message}`));
    return result;
  }
  // It ends with its kind: its processes would go on with their rounds. Only what is interrupted waits for the end of all.
  const ending = cleanup.use(new AsyncDisposableStack());
  ending.defer(() => world.close());
  const products = await fillShelves(world);
  const people = new People(world, products, random);
  ending.defer(() => people.close());
  for (const one of kind.cases) await runCase(one, { world, people, random }, result, print);
  result.requests = people.requests;
  result.orders = await world.orderDb.Order.count();
  await ending.disposeAsync();
  return result;
}

/** One case, after which all that was ever bought is looked at. */
async function runCase(one: Case, stage: Stage, result: Result, print: (line: string) => void): Promise<void> {
  const { world, people } = stage;
  const from = people.intents.length;
  const start = performance.now();
  const wrong: string[] = [];
  try {
    const work = one.run(stage);
    wrong.push(...(await brokenMeanwhile(world, work)));
    result.faults += await work;
  } catch (error) {
    if (error instanceof NotHereError) return print(`skip  ${one.name}: ${error.message}`);
    wrong.push(String(error));
  }
  result.cases++;
  const settledMs = await settle(world);
  if (settledMs === undefined) wrong.push('did not settle');
  wrong.push(...people.violations.splice(0), ...(await violationsOf(world, people.intents.slice(from))));
  result.settleMs = Math.max(result.settleMs, Math.round(settledMs ?? Infinity));
  result.violations += wrong.length;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  const took = `${seconds} s, settled after ${Math.round(settledMs ?? NaN)} ms`;
  print(`${wrong.length === 0 ? 'ok  ' : 'FAIL'}  ${one.name}  (${took})`);
  wrong.slice(0, 10).forEach((violation) => print(`      ${violation}`));
}

function unlessNotHere(error: unknown): NotHereError {
  if (error instanceof NotHereError) return error;
  throw error;
}

/** A few products, one of which is sold out soon. Returns their ids. */
export async function fillShelves(world: World): Promise<bigint[]> {
  const { client, close } = connectStockService(world.stocks[0]!.link.address);
  const ids = Array.from({ length: PRODUCTS }, (_, i) => BigInt(i + 1));
  await client.putProducts({
    products: ids.map((productId) => ({ productId, title: `Product ${productId}`, unitPriceCents: 250n })),
  });
  const items = ids.map((productId) => ({ productId, quantity: productId === 1n ? FEW : MANY }));
  await client.receiveStock({ receiptNo: 'faults', items });
  close();
  return ids;
}
