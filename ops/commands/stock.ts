import { type Command, InvalidArgumentError } from 'commander';
import type { Access } from '../access.ts';
import { ask } from '../ask.ts';
import { money, print, printJson } from '../show/print.ts';
import { table } from '../show/table.ts';

/** Products that stock-svc takes in one call. */
const MOST = 100;

interface Line {
  readonly productId: bigint;
  readonly quantity: bigint;
}

export function addStockCommands(program: Command, access: Access): void {
  const stock = program.command('stock').description('Products and what is left of them, as stock-svc says.');
  stock
    .command('show')
    .description('Price, title and what can still be sold of products.')
    .argument('<product_id...>', `1 to ${MOST} products`, (text, before?: bigint[]) => [
      ...(before ?? []),
      productId(text),
    ])
    .option('--json', 'one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ ordersystem stock show 1 2 3
  $ ordersystem stock show 1 --json | jq -r '.products[0].available'

Status 1: there is no such product.`,
    )
    .action(async (productIds: bigint[], options: { json?: true }) => showStock(access, productIds, options));
  stock
    .command('receive')
    .description('Books goods in, once for each receipt number: a repeat with the same goods adds nothing more.')
    .argument('<receipt_no>', 'the number of the goods receipt: 1 to 32 of A-Z a-z 0-9 . _ : -')
    .argument('<product_id=pieces...>', `1 to ${MOST} products, and how many pieces came`, (text, before?: Line[]) => [
      ...(before ?? []),
      line(text),
    ])
    .option('--yes', 'do not ask')
    .option('--json', 'one JSON document')
    .addHelpText(
      'after',
      `
Examples:
  $ ordersystem stock receive GR-2026-1130-7 1=500 2=20
  $ ordersystem stock receive GR-2026-1130-7 1=500 2=20 --yes     in a script; harmless to repeat

Status 1: the receipt number brought other goods before, or there is no such product
(PutProducts makes products).`,
    )
    .action(async (receiptNo: string, lines: Line[], options: { yes?: true; json?: true }) =>
      receiveStock(access, receiptNo, lines, options),
    );
}

async function showStock(access: Access, productIds: bigint[], { json }: { json?: true }): Promise<void> {
  const { stocks } = await access.stockService().getStock({ productIds });
  if (json) {
    const products = stocks.map(({ productId, title, unitPriceCents, available }) => ({
      product_id: productId,
      title,
      unit_price_cents: unitPriceCents,
      available,
    }));
    return printJson({ products });
  }
  const right = true;
  print(
    ...table(
      [{ name: 'product', right }, { name: 'available', right }, { name: 'price', right }, 'title'],
      stocks.map((one) => [String(one.productId), String(one.available), money(one.unitPriceCents), one.title]),
    ),
  );
}

async function receiveStock(
  access: Access,
  receiptNo: string,
  items: Line[],
  options: { yes?: true; json?: true },
): Promise<void> {
  const client = access.stockService();
  const { stocks } = await client.getStock({ productIds: items.map((item) => item.productId) });
  const products = new Map(stocks.map((one) => [one.productId, one]));
  const plan = items.map(({ productId, quantity }) => {
    const { title, available } = products.get(productId)!;
    return `${quantity} more of ${productId}, of which there are ${available}: ${title}`;
  });
  await ask(plan, `Book them in under receipt ${receiptNo}?`, options);
  const { replayed } = await client.receiveStock({ receiptNo, items });
  if (options.json) printJson({ receipt_no: receiptNo, replayed });
  else print(`receipt ${receiptNo} ${replayed ? 'had been booked before: nothing more was added' : 'is booked'}`);
}

function productId(text: string): bigint {
  if (!/^[1-9]\d{0,17}$/.test(text)) throw new InvalidArgumentError('A product_id is a whole number from 1.');
  return BigInt(text);
}

function line(text: string): Line {
  const [, id, pieces] = /^(\d+)=(\d{1,7})$/.exec(text) ?? [];
  if (id === undefined || pieces === undefined)
    throw new InvalidArgumentError('It must be product_id=pieces, such as 1=500.');
  return { productId: productId(id), quantity: BigInt(pieces) };
}
