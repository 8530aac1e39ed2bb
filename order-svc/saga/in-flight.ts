import type { Intent } from '../domain/intent.ts';

/** An attempt of this process that is at work. */
export interface LocalAttempt {
  readonly intent: Intent;
  /** Resolves when the attempt is over, however it ended. */
  readonly over: Promise<void>;
}

/** The attempts of this process that are at work, by key: whoever comes with the same key need not ask the database. */
export class InFlight {
  readonly #attempts = new Map<string, LocalAttempt>();

  /** Notes an attempt. Returns what to call when it is over. */
  begin(intent: Intent): () => void {
    const key = intent.clientRequestId;
    if (key === undefined) return () => {};
    const { promise: over, resolve } = Promise.withResolvers<void>();
    this.#attempts.set(key, { intent, over });
    return () => {
      this.#attempts.delete(key);
      resolve();
    };
  }

  /** The attempt at work for this key; undefined when this process has none. */
  find(clientRequestId: string | undefined): LocalAttempt | undefined {
    return clientRequestId === undefined ? undefined : this.#attempts.get(clientRequestId);
  }
}
