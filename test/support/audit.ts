import assert from 'node:assert/strict';
import { findBrokenRules } from '../../dev/audit.ts';
import type { OrderDb } from '../../order-svc/db/models.ts';
import type { StockDb } from '../../stock-svc/db/models.ts';

/** Fails with every rule that must hold always, over both databases, and does not. */
export async function audit(orderDb: OrderDb, stockDb: StockDb): Promise<void> {
  assert.deepEqual(await findBrokenRules(orderDb, stockDb), [], 'the audit found broken rules');
}
