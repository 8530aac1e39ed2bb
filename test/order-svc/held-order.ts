import assert from 'node:assert/strict';
import { holdRows, untilLocked } from '../support/row-locks.ts';
import type { OrderNode, System } from '../support/system.ts';

/** An order in the middle of its transaction: its claim is gone and its row is there, and nobody sees either yet. */
export interface HeldOrder {
  /** Resolves when it stands there. */
  readonly reached: Promise<void>;
  /** Lets it go on. */
  release(): Promise<void>;
}

/** Holds the next order that a node makes, the only one at work there, by the row of its first item. */
export function holdNextOrder({ orderDb }: System, node: OrderNode): HeldOrder {
  const { promise: held, resolve } = Promise.withResolvers<{ orderNo: string; release: () => Promise<void> }>();
  node.edge.deducts.push(async (forward) => {
    const claim = await orderDb.OrderClaim.findOne({ raw: true });
    assert.ok(claim);
    const orderNo = claim.order_no;
    const item = `INSERT INTO t_order_item (order_no, line_no, product_id, quantity, title, unit_price_cents)
      VALUES (?, 0, 1, 1, '', 1)`;
    resolve({ orderNo, release: await holdRows(orderDb.sequelize, item, [orderNo]) });
    return forward();
  });
  return {
    reached: held.then(({ orderNo }) =>
      untilLocked(orderDb.sequelize, 'SELECT 1 FROM t_order_claim WHERE order_no = ?', [orderNo]),
    ),
    release: () => held.then(({ release }) => release()),
  };
}
