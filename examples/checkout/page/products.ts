/** What the shop sells. */
export interface Product {
  readonly productId: bigint;
  readonly title: string;
  readonly unitPriceCents: bigint;
}

/** The products at their prices now; none when the shop cannot tell. */
export async function fetchProducts(): Promise<Product[]> {
  try {
    const response = await fetch('/products');
    const products = (await response.json()) as { productId: string; title: string; unitPriceCents: string }[];
    return products.map(({ productId, title, unitPriceCents }) => ({
      productId: BigInt(productId),
      title,
      unitPriceCents: BigInt(unitPriceCents),
    }));
  } catch {
    return [];
  }
}

export function money(cents: bigint): string {
  return (Number(cents) / 100).toLocaleString('en', { style: 'currency', currency: 'EUR' });
}
