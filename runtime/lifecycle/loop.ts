import type { Logger } from './logger.ts';

/** A background worker: passes one after the other, with a pause between them. */
export interface LoopOptions {
  /** What the worker is called in the log. */
  name: string;
  /** Milliseconds between two passes when there was nothing more to do, and after a pass that failed. */
  intervalMs: number;
  /** One pass. True: there is more to do, go on at once. An error is logged and the worker goes on. */
  runOnce: () => Promise<boolean>;
  logger: Logger;
}

/** Runs a worker's passes until it is stopped. */
export class Loop {
  readonly #options: LoopOptions;
  #stopping = false;
  #woken = Promise.withResolvers<void>();
  #running: Promise<void> = Promise.resolve();

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  start(): this {
    this.#running = this.#run();
    return this;
  }

  /** Ends the pause: the next pass starts now, or right after the one in work. */
  wake(): void {
    this.#woken.resolve();
  }

  /** Lets the pass in work end, and starts no other. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { name, intervalMs, runOnce, logger } = this.#options;
    while (!this.#stopping) {
      let more = false;
      try {
        more = await runOnce();
      } catch (err) {
        logger.error({ err, worker: name }, 'pass failed');
      }
      if (!more && !this.#stopping) await this.#pause(intervalMs);
    }
  }

  async #pause(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([this.#woken.promise, new Promise((resolve) => (timer = setTimeout(resolve, ms)))]);
    clearTimeout(timer);
    this.#woken = Promise.withResolvers();
  }
}
