import type { Migration } from '../../runtime/db/migrate.ts';
import { orderTables } from './migrations/001-orders.ts';
import { eventErrors } from './migrations/004-event-errors.ts';

/** The schema of order-svc, step by step. */
export const orderMigrations: readonly Migration[] = [orderTables, eventErrors];
