import type { Logger } from '../../runtime/lifecycle/logger.ts';
import { findExpiredClaims } from '../db/claims.ts';
import type { OrderDb } from '../db/models.ts';
import { stageRestores } from '../db/stage-restores.ts';

/** Claims of one pass. */
const LIMIT = 100;

/** One pass of the reaper: turns expired claims into STOCK_RESTORE events. True: there may be more. Any number may run. */
export async function reapOnce(db: OrderDb, logger: Logger): Promise<boolean> {
  const expired = await findExpiredClaims(db, LIMIT);
  const reaped = await stageRestores(db, expired);
  if (reaped > 0) logger.warn({ claims: reaped }, 'reaped expired claims');
  return expired.length === LIMIT;
}
