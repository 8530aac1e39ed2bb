import type { Sequelize } from 'sequelize';
import type { Access } from '../access.ts';
import { ask } from '../ask.ts';
import { parkEvent, requeueDeadEvents, requeueEvent } from '../db/change-events.ts';
import { countEvents, findEvent } from '../db/find-events.ts';
import { status } from '../failure.ts';
import { print, printJson } from '../show/print.ts';

interface Options {
  yes?: true;
  json?: true;
}

export function requeueEvents(access: Access, eventIds: string[], options: Options): Promise<void> {
  return changeEach(access, eventIds, options, { will: 'be due now', done: 'requeued', change: requeueEvent });
}

export function parkEvents(access: Access, eventIds: string[], options: Options): Promise<void> {
  return changeEach(access, eventIds, options, { will: 'be put aside', done: 'parked', change: parkEvent });
}

export async function requeueDead(access: Access, options: Options): Promise<void> {
  const counts = await countEvents(await access.orderDatabase(), ['DEAD']);
  const plan = counts.map((count) => `${count.events} ${count.event_type} will be due now`);
  let requeued = 0;
  if (counts.length > 0) {
    await ask(plan, 'Requeue them?', options);
    requeued = await requeueDeadEvents(await access.orderDatabase({ readOnly: false }));
  }
  if (options.json) printJson({ requeued });
  else print(requeued === 0 ? 'no event is DEAD' : `${requeued} events are requeued`);
}

/** What is done to each event, in words and in fact. */
interface Change {
  readonly will: string;
  readonly done: 'requeued' | 'parked';
  readonly change: (order: Sequelize, eventId: string) => Promise<boolean>;
}

async function changeEach(access: Access, eventIds: string[], options: Options, job: Change): Promise<void> {
  const order = await access.orderDatabase();
  const found = await Promise.all(eventIds.map((eventId) => findEvent(order, eventId)));
  const plan = eventIds.map((eventId, i) => {
    const state = found[i]?.status ?? 'not there';
    return found[i] && state !== 'SENT' ? `${eventId} is ${state}, will ${job.will}` : `${eventId} is ${state}`;
  });
  await ask(plan, 'Do it?', options);
  const writable = await access.orderDatabase({ readOnly: false });
  const done: string[] = [];
  const left: string[] = [];
  for (const eventId of eventIds) ((await job.change(writable, eventId)) ? done : left).push(eventId);
  if (options.json) printJson({ [job.done]: done, left });
  else {
    if (done.length > 0) print(`${job.done}: ${done.join(', ')}`);
    if (left.length > 0) print(`left as they are (not there, SENT, or in the hands of a relay): ${left.join(', ')}`);
  }
  process.exitCode = left.length === 0 ? status.fine : status.wrong;
}
