import type { Access } from '../access.ts';
import { countEvents, type EventStatus, findEvent, findEvents } from '../db/find-events.ts';
import { Failure, status } from '../failure.ts';
import { eventLines } from '../show/event-lines.ts';
import { moment, print, printJson } from '../show/print.ts';
import { fields, visible } from '../show/table.ts';

interface ListOptions {
  dead?: true;
  status?: EventStatus;
  type?: string;
  limit: number;
  json?: true;
}

export async function listEvents(access: Access, options: ListOptions): Promise<void> {
  const { type, limit, json } = options;
  const one = options.dead ? 'DEAD' : options.status;
  const statuses: readonly EventStatus[] = one === undefined ? ['WAIT', 'DEAD', 'PARKED'] : [one];
  const order = await access.orderDatabase();
  const events = await findEvents(order, { statuses, type, limit });
  const counts = (await countEvents(order, statuses)).filter(
    (count) => type === undefined || count.event_type === type,
  );
  if (json) return printJson({ counts, events });
  if (events.length === 0) return print('no such events');
  print(...eventLines(events));
  const total = counts.map((count) => `${count.events} ${count.event_type} ${count.status}`).join(', ');
  print('', `${events.length} of these: ${total}`);
}

export async function showEvent(access: Access, eventId: string, { json }: { json?: true }): Promise<void> {
  const event = await findEvent(await access.orderDatabase(), eventId);
  if (!event) throw new Failure(status.wrong, `there is no event ${eventId}`);
  if (json) return printJson(event);
  print(
    ...fields({
      event: event.event_id,
      order: event.order_no,
      type: event.event_type,
      status: event.status,
      attempts: String(event.attempts),
      created: moment(event.create_time),
      due: moment(event.next_retry_time),
      'in hand until': moment(event.lease_time),
      'last error': event.last_error ?? '',
    }),
    '',
    ...JSON.stringify(event.payload, null, 2).split('\n').map(visible),
  );
}
