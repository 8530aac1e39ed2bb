import type { LeasedEvent } from '../db/events.ts';

/** Where news of orders goes. Each kind of broker has one; `publishers.ts` says which URL is for which. */
export interface Publisher {
  /**
   * Gets ready. A broker that is away is no error: it is looked for from then on.
   *
   * @param onReady called when events can be published, at first and after each outage.
   * @throws when it cannot ever work as it is configured.
   */
  start(onReady: () => void): Promise<void>;
  /** False: nothing can be published now, so events should stay where they are. */
  isReady(): boolean;
  /**
   * Resolves when the event is safe at its destination; a repeat carries the same event_id.
   *
   * @throws AwayError when the destination could not take it now. Any other error is the event's own: it would fail again.
   */
  publish(event: LeasedEvent): Promise<void>;
  stop(): Promise<void>;
}

/** Whoever was to take an event is away, or cannot take it now. Nothing is wrong with the event, and it is tried until it is taken. */
export class AwayError extends Error {
  override readonly name = 'AwayError';
}
