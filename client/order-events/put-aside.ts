import type { ArrivedEvent } from './arrived-event.ts';
import { type DeadEvent, deleteDead, insertDead, lockNextDead } from './dead-events.ts';
import { type Consumer, EventFailedError, handleOne, insertHandled } from './handle-together.ts';
import { lockAhead, lockPlace, movePlace } from './place.ts';
import { inTransaction } from './tables.ts';

/** Puts an event aside that its handler fails on, so that those behind it can go on. */
export async function putAside(
  { durable, db }: Consumer,
  stream: string,
  event: ArrivedEvent,
  why: unknown,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const [ahead] = await lockAhead(tx, durable, stream, [event]);
    if (!ahead) return;
    await insertDead(tx, durable, event, String(why));
    await insertHandled(tx, durable, [event]);
    await movePlace(tx, durable, event);
  });
}

/** What became of the events that were put aside. */
export interface Retried {
  /** Handled, and no longer there. */
  handled: number;
  /** Failed again, or wait for one of their order that did. */
  left: number;
}

/** Handles what was put aside, oldest first, each in a transaction of its own. */
export async function retryDead({ durable, db, handle }: Consumer): Promise<Retried> {
  const stuckOrders = new Set<string>();
  const retried = { handled: 0, left: 0 };
  for (let after = '0'; ;) {
    let dead = undefined as DeadEvent | undefined;
    try {
      await inTransaction(db, async (tx) => {
        // Nothing is put aside while this is at work: it would come before what it has to wait for.
        await lockPlace(tx, durable);
        dead = await lockNextDead(tx, durable, after);
        if (!dead || stuckOrders.has(dead.orderNo)) return;
        await handleOne(handle, dead, tx);
        await deleteDead(tx, dead);
      });
    } catch (error) {
      if (!dead || !(error instanceof EventFailedError)) throw error;
      stuckOrders.add(dead.orderNo);
    }
    if (!dead) return retried;
    if (stuckOrders.has(dead.orderNo)) retried.left++;
    else retried.handled++;
    after = dead.deadId;
  }
}
