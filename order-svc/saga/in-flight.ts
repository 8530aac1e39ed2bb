/** The attempts of this process that are at work, by key: whoever waits for one of them need not poll the database. */
export class InFlight {
  readonly #attempts = new Map<string, Promise<void>>();

  /** Notes an attempt. Returns what to call when it is over. */
  begin(clientRequestId: string | undefined): () => void {
    if (clientRequestId === undefined) return () => {};
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#attempts.set(clientRequestId, promise);
    return () => {
      if (this.#attempts.get(clientRequestId) === promise) this.#attempts.delete(clientRequestId);
      resolve();
    };
  }

  /** Resolves when the attempt at work for this key is over; undefined when this process has none. */
  attemptOf(clientRequestId: string): Promise<void> | undefined {
    return this.#attempts.get(clientRequestId);
  }
}
