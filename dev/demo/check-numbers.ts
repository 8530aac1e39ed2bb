/** What a scene must leave behind, exactly. */
export interface Expected {
  /** Orders of the scene's keys, which are all orders of its product. */
  readonly orders: number;
  /** Pieces that are gone from the stock. */
  readonly taken: number;
  /** Attempts whose stock the ledger shows to be given back. By default none. */
  readonly givenBack?: number | 'any';
}

/** One movement of the product in stock-svc's ledger. */
export interface Movement {
  readonly order_no: string;
  readonly type: 'DEDUCT' | 'RESTORE' | 'RECEIVE';
  readonly quantity: string;
}

/** What both databases say after a scene. */
export interface Numbers {
  readonly orders: number;
  readonly ordersOfProduct: number;
  readonly stockBefore: number;
  readonly stockAfter: number;
  readonly ledger: readonly Movement[];
}

/** Says of each number that is not the expected one what it is and what it should be. */
export function wrongNumbers(expected: Expected, seen: Numbers): string[] {
  const { orders, taken, givenBack = 0 } = expected;
  const wrong: string[] = [];
  const check = (what: string, actual: number, right: number): void => {
    if (actual !== right) wrong.push(`${what}: ${actual}, should be ${right}`);
  };
  check('orders of these keys', seen.orders, orders);
  check('orders of the product', seen.ordersOfProduct, orders);
  check('stock after', seen.stockAfter, seen.stockBefore - taken);

  const restored = seen.ledger.filter(({ type }) => type === 'RESTORE');
  const deducted = seen.ledger.filter(({ type }) => type === 'DEDUCT');
  const kept = deducted.filter(({ order_no: orderNo }) => !restored.some((movement) => movement.order_no === orderNo));
  check('attempts in the ledger that keep their stock', kept.length, orders);
  check('pieces taken, by the ledger', pieces(deducted) - pieces(restored), taken);
  if (givenBack !== 'any') check('attempts in the ledger that gave their stock back', restored.length, givenBack);
  return wrong;
}

function pieces(movements: readonly Movement[]): number {
  return movements.reduce((sum, { quantity }) => sum + Number(quantity), 0);
}
