import type { Sequelize } from 'sequelize';
import { findEvents } from '../db/find-events.ts';
import type { Finding } from './findings.ts';

/** Events that have failed their last attempt. No rule is broken by one, but nobody works at it any more. */
export async function findDeadEvents(order: Sequelize, limit: number): Promise<Finding[]> {
  const events = await findEvents(order, { statuses: ['DEAD'], limit });
  return events.map(({ event_id: eventId, order_no: orderNo, attempts, last_error }) => ({
    rule: 'EVENT_DEAD',
    orderNo,
    eventId,
    message: `event ${eventId} has failed ${attempts} times: ${last_error ?? 'it is not known why'}`,
    repair: 'REQUEUE',
  }));
}
