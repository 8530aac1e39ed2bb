/**
 * Resolves when all that this turn of the event loop leads to has been sent, batches of a `GroupCommit` included. For what can wait so long:
 * other processes are at work meanwhile.
 *
 * @see https://nodejs.org/api/timers.html#setimmediatecallback-args what one schedules runs in the turn after it
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}
