import type { Product } from '../domain/take.ts';

/** Products that are remembered. */
const MAX_PRODUCTS = 10_000;

/**
 * Products as this process has known them last. Others change them, too, so what is known is a guess that whoever writes has to check.
 */
export class KnownProducts {
  readonly #products = new Map<bigint, Product>();

  /** Takes products out, so that a guess that proves wrong is not made again. Undefined, and out, when one of them is not known. */
  take(ids: readonly bigint[]): Map<bigint, Product> | undefined {
    const taken = new Map<bigint, Product>();
    for (const id of ids) {
      const product = this.#products.get(id);
      if (product && this.#products.delete(id)) taken.set(id, product);
    }
    return taken.size === ids.length ? taken : undefined;
  }

  put(products: ReadonlyMap<bigint, Product>): void {
    for (const [id, product] of products) this.#products.set(id, product);
    if (this.#products.size > MAX_PRODUCTS) this.#products.clear();
  }
}
