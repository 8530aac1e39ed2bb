import type { Sequelize } from 'sequelize';
import { requeueEvent, stageRestore } from '../db/change-events.ts';
import { findDeduction } from '../db/find-deduction.ts';
import { judgeNumbers } from './audit.ts';
import type { Databases } from './databases.ts';
import type { Finding } from './findings.ts';

/** Mends a finding, if it still holds. `writable` is order-svc's database. True: done. */
export async function repair(databases: Databases, writable: Sequelize, finding: Finding): Promise<boolean> {
  const { repair: way, orderNo, eventId } = finding;
  if (way === 'REQUEUE') return requeueEvent(writable, eventId!);
  if (way !== 'STAGE_RESTORE') return false;
  const now = await judgeNumbers(databases, [orderNo!]);
  if (!now.some(({ rule }) => rule === finding.rule)) return false;
  const deduction = await findDeduction(databases.stock, orderNo!);
  const taken = deduction?.records.filter((record) => record.type === 'DEDUCT') ?? [];
  const items = taken.map(({ product_id, quantity }) => ({ product_id, quantity }));
  return stageRestore(writable, orderNo!, items);
}
