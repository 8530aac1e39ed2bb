import type { Event } from '../db/find-events.ts';
import { moment } from './print.ts';
import { table } from './table.ts';

/** Events as a table. `due` is when it is, or was, to be handed on. */
export function eventLines(events: readonly Event[]): string[] {
  return table(
    ['event', 'status', { name: 'attempts', right: true }, 'created', 'due', 'last error'],
    events.map((event) => [
      event.event_id,
      event.status,
      String(event.attempts),
      moment(event.create_time),
      event.status === 'WAIT' ? moment(event.next_retry_time) : '',
      event.last_error ?? '',
    ]),
  );
}
