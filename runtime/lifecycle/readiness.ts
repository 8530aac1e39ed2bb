import { EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from './logger.ts';
import { Loop } from './loop.ts';

/** One thing that must hold for calls to be served. It does not when this is false, throws, or has not ended when the signal is aborted. */
export type Check = (signal: AbortSignal) => boolean | Promise<boolean>;

/** What is checked, and how often. Times in milliseconds. */
export interface ReadinessOptions {
  /** By what is wrong when the check fails. Whoever asks for readiness is shown this: nothing of the service's insides. */
  checks: Readonly<Record<string, Check>>;
  /** Pause between two passes. */
  intervalMs: number;
  /** Longest time that one check may take. Default 2,000. */
  timeoutMs?: number;
  logger: Logger;
}

const STARTING = 'the process is starting';
const DRAINING = 'the process is shutting down';

/**
 * Whether this process should be sent calls: not before it has started and every check has passed, not while one of them fails, and no
 * more from `drain` on.
 */
export class Readiness extends EventEmitter<{ change: [] }> {
  readonly #checks: readonly (readonly [problem: string, check: Check])[];
  readonly #timeoutMs: number;
  readonly #logger: Logger;
  readonly #loop: Loop;
  #problems: readonly string[] = [STARTING];
  #draining = false;

  constructor({ checks, intervalMs, timeoutMs = 2000, logger }: ReadinessOptions) {
    super();
    // One for each caller that watches.
    this.setMaxListeners(0);
    this.#checks = Object.entries(checks);
    this.#timeoutMs = timeoutMs;
    this.#logger = logger;
    this.#loop = new Loop({ name: 'readiness', intervalMs, runOnce: () => this.runOnce(), logger });
  }

  /** What is wrong, as the last pass found it; empty: ready. `change` is emitted when it becomes another. */
  problems(): readonly string[] {
    return this.#draining ? [DRAINING] : this.#problems;
  }

  /** False until `start`: nothing that a call needs is there yet. */
  get started(): boolean {
    return this.#problems[0] !== STARTING;
  }

  /** What calls need is there: checks now, and from now on again and again. */
  async start(): Promise<void> {
    await this.runOnce();
    this.#loop.start();
  }

  /** One pass over all checks at once. */
  async runOnce(): Promise<boolean> {
    const failed = await Promise.all(this.#checks.map(([problem, check]) => this.#fails(problem, check)));
    this.#become(this.#checks.flatMap(([problem], i) => (failed[i] ? [problem] : [])));
    return false;
  }

  /**
   * Not ready from now on. Resolves after `noticeMs`, in which load balancers notice it and calls are still served; at once when nobody
   * can have sent one.
   */
  async drain(noticeMs: number): Promise<void> {
    this.#draining = true;
    this.emit('change');
    if (this.started) await sleep(noticeMs);
  }

  /** Ends the checks. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #fails(problem: string, check: Check): Promise<boolean> {
    const tooLong = Promise.withResolvers<never>();
    const controller = new AbortController();
    const timer = setTimeout(() => {
      controller.abort();
      tooLong.reject(new Error(`no answer in ${this.#timeoutMs} ms`));
    }, this.#timeoutMs);
    try {
      return !(await Promise.race([check(controller.signal), tooLong.promise]));
    } catch (err) {
      // Once when it goes wrong, not in each pass.
      if (!this.#problems.includes(problem)) this.#logger.warn({ err }, problem);
      return true;
    } finally {
      clearTimeout(timer);
    }
  }

  #become(problems: readonly string[]): void {
    if (problems.join() === this.#problems.join()) return;
    if (problems.length > 0) this.#logger.warn({ problems }, 'not ready');
    else if (this.started) this.#logger.info({}, 'ready again');
    this.#problems = problems;
    this.emit('change');
  }
}
