const PRODUCTS = 100;
const HOT = 101;
const SOLD_OUT = 102;

/** The products of every row. */
export const fixtures = {
  products: Array.from({ length: SOLD_OUT }, (_, i) => i + 1),
  /** The one that all callers want. */
  hotProduct: HOT,
  /** The one of which there is none. */
  soldOutProduct: SOLD_OUT,
  anyProduct: () => 1 + Math.floor(Math.random() * PRODUCTS),
} as const;
