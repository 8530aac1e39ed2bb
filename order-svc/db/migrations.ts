import type { Migration } from '../../runtime/db/migrate.ts';
import { orderTables } from './migrations/001-orders.ts';
import { orderLife } from './migrations/002-order-life.ts';
import { eventLanes } from './migrations/003-event-lanes.ts';

/** The schema of order-svc, step by step. */
export const orderMigrations: readonly Migration[] = [orderTables, orderLife, eventLanes];
