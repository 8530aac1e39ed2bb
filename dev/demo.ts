import { findBrokenRules } from '../ops/audit/audit.ts';
import { playScene, type SceneResult } from './demo/scene.ts';
import { piecesInStock, scenes } from './demo/scenes.ts';
import { openDatabaseServer, Shop } from './demo/shop.ts';
import { closingLines, sceneLines } from './demo/show.ts';
import { type CommandContext, runCommand } from './run-command.ts';

const options = process.argv.slice(2);
if (options.some((option) => option !== '--json')) {
  process.stderr.write('usage: npm run demo [-- --json]\n');
  process.exit(2);
}

const results: SceneResult[] = [];
let database: string | undefined;

await runCommand({ name: 'demo', run, onError, interruptedStatus: 130 });

async function run(context: CommandContext): Promise<number> {
  const server = await openDatabaseServer(context);
  database = server.version;
  const shop = await Shop.open(context, server);
  return Promise.race([playAll(shop, context.print), shop.failed]);
}

async function playAll(shop: Shop, print: (line: string) => void): Promise<number> {
  await fillShelves(shop);
  print('');
  for (const [i, scene] of scenes.entries()) {
    const result = await playScene(scene, shop, print);
    results.push(result);
    sceneLines(i + 1, result).forEach(print);
  }
  const brokenRules = await findBrokenRules({ order: shop.orderDb.sequelize, stock: shop.stockDb.sequelize });
  print('');
  closingLines(
    results,
    brokenRules.map(({ message }) => message),
  ).forEach(print);
  const ok = brokenRules.length === 0 && results.every((result) => result.ok);
  printJson(ok);
  return ok ? 0 : 1;
}

async function fillShelves({ stock }: Shop): Promise<void> {
  const products = scenes.map((scene) => scene.product);
  await stock.putProducts({ products });
  const items = products.map(({ productId }) => ({ productId, quantity: piecesInStock }));
  await stock.receiveStock({ receiptNo: 'demo', items });
}

function onError(message: string): void {
  process.stderr.write(`demo: ${message}\n`);
  printJson(false, message);
}

/** A reason stands beside what is wrong; there is none when all is as it should be. */
function printJson(ok: boolean, error?: string): void {
  if (!options.includes('--json')) return;
  const brief = results.map(({ wrong, ...result }) => (wrong.length > 0 ? { ...result, wrong } : result));
  process.stdout.write(`${JSON.stringify({ scenes: brief, ok, database, error })}\n`);
}
