/** What has arrived of a source, at most so many at a time. Waits for the first of them only. */
export async function* batchesOf<T>(source: AsyncIterable<T>, size: number): AsyncGenerator<T[], void> {
  const iterator = source[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    for (;;) {
      const first = await next;
      if (first.done) return;
      const batch = [first.value];
      next = iterator.next();
      while (batch.length < size) {
        const more = await Promise.race([next, nothingYet()]);
        if (!more || more.done) break;
        batch.push(more.value);
        next = iterator.next();
      }
      yield batch;
    }
  } finally {
    // Nobody waits for the next one any more.
    next.catch(() => {});
  }
}

function nothingYet(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(resolve, undefined));
}
