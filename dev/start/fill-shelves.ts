import { connectStockService } from '../../client/clients.ts';

const products = [
  { productId: 1n, title: 'Espresso beans, dark roast, 1 kg', unitPriceCents: 2490n },
  { productId: 2n, title: 'Burr grinder, 40 steps', unitPriceCents: 18900n },
  { productId: 3n, title: 'Porcelain cups, set of 6', unitPriceCents: 4450n },
];

/** Puts some products in stock, once: the receipt has the same number each time, so a second start adds nothing. */
export async function fillShelves(stockAddress: string): Promise<void> {
  const { client, close } = connectStockService(stockAddress);
  try {
    await client.putProducts({ products });
    const items = products.map(({ productId }) => ({ productId, quantity: 1_000n }));
    await client.receiveStock({ receiptNo: 'npm-start-1', items });
  } finally {
    close();
  }
}
