import assert from 'node:assert/strict';
import { findBrokenRules } from '../../ops/audit/audit.ts';
import type { OrderDb } from '../../order-svc/db/models.ts';
import type { StockDb } from '../../stock-svc/db/models.ts';

/** Fails with every rule that must hold always, over both databases, and does not. */
export async function audit(orderDb: OrderDb, stockDb: StockDb): Promise<void> {
  const findings = await findBrokenRules({ order: orderDb.sequelize, stock: stockDb.sequelize });
  assert.deepEqual(findings, [], 'the audit found broken rules');
}
