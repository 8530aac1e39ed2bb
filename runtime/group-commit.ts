/** How operations of one kind are done together. */
export interface GroupCommitOptions<Input, Output> {
  /**
   * Does a batch, and answers each input in order: its output, or an Error that is its alone. Rejects with what befell all of them.
   */
  run: (inputs: readonly Input[]) => Promise<readonly (Output | Error)[]>;
  /**
   * Whether a batch that failed so has left nothing behind and can be run again, one by one, so that each input gets its own answer.
   * Where it may have been done, each input is told that error instead.
   */
  runAlone: (error: unknown) => boolean;
  /** Most inputs in one batch. 1: each by itself. */
  maxSize: number;
  /** How much an input adds to its batch: the size of what is sent grows with it. Default 1 each. */
  weightOf?: (input: Input) => number;
  /** Most weight of one batch; an input that weighs more goes alone. Default 1,000. */
  maxWeight?: number;
  /** Where its batches are at work. Default one lane of its own: what arrives meanwhile is the next batch. */
  lanes?: Lanes;
  /** More of them, while what waits has waited for `stallMs`: one that is stuck must not hold up all others. Default 8. */
  spareLanes?: number;
  /** Milliseconds. Default 30. */
  stallMs?: number;
}

/**
 * Batches at work at once. Operations of different kinds that follow each other, and so come from the same callers, should share a lane:
 * while a batch of one kind is at work, those of the other kinds gather. In lanes of their own they spread over the kinds, in batches
 * that are smaller by as much.
 */
export class Lanes {
  readonly limit: number;
  #atWork = 0;
  readonly #waiting = new Set<() => void>();

  /** @param limit how many. */
  constructor(limit = 1) {
    this.limit = limit;
  }

  get isFree(): boolean {
    return this.#atWork < this.limit;
  }

  /** Whether one is free or not. */
  enter(): void {
    this.#atWork++;
  }

  /** Then those look again who wait, in the order in which they began to. */
  leave(): void {
    this.#atWork--;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const look of waiting) look();
  }

  /** Calls back, once, when a lane may be free. */
  wait(look: () => void): void {
    this.#waiting.add(look);
  }
}

interface Waiting<Input, Output> {
  readonly input: Input;
  readonly signal: AbortSignal | undefined;
  readonly since: number;
  readonly resolve: (output: Output) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Group commit: operations that wait at the same time go out together, first come, first served. No batch waits to be filled: it is
 * what gathered while the last one was at work, so one caller alone never waits. How many may wait is for the door to say, by which
 * they came in.
 *
 * @see https://dev.mysql.com/doc/refman/8.4/en/commit.html for what it is to the server: one flush for all of them.
 */
export class GroupCommit<Input, Output> {
  readonly #options: GroupCommitOptions<Input, Output>;
  readonly #lanes: Lanes;
  readonly #spareLanes: number;
  readonly #stallMs: number;
  #waiting: Waiting<Input, Output>[] = [];
  #running = 0;
  #scheduled = false;
  #stallTimer: NodeJS.Timeout | undefined;

  constructor(options: GroupCommitOptions<Input, Output>) {
    this.#options = options;
    this.#lanes = options.lanes ?? new Lanes();
    this.#spareLanes = options.spareLanes ?? 8;
    this.#stallMs = options.stallMs ?? 30;
  }

  /**
   * Does one operation, with others or alone.
   *
   * @param signal its caller is gone when this is aborted: an operation that is still waiting then is not done, and rejects with the
   *   signal's reason. One that is at work goes on to its end.
   */
  submit(input: Input, signal?: AbortSignal): Promise<Output> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, signal, since: performance.now(), resolve, reject });
      this.#schedule();
    });
  }

  // What arrives in one turn of the event loop stays together, be it from many connections or in one batch of another service.
  readonly #schedule = (): void => {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#lanes.isFree && this.#start());
      if (this.#waiting.length === 0) return;
      this.#lanes.wait(this.#schedule);
      this.#watch();
    });
  };

  #watch(): void {
    this.#stallTimer ??= setTimeout(() => {
      this.#stallTimer = undefined;
      const [oldest] = this.#waiting;
      if (!oldest) return;
      const stalled = performance.now() - oldest.since >= this.#stallMs;
      if (stalled && this.#running < this.#lanes.limit + this.#spareLanes) this.#start();
      if (this.#waiting.length > 0) this.#watch();
    }, this.#stallMs);
  }

  /** False: nothing waits. */
  #start(): boolean {
    const batch = this.#take();
    if (batch.length === 0) return false;
    void this.#work(batch);
    return true;
  }

  #take(): Waiting<Input, Output>[] {
    const batch: Waiting<Input, Output>[] = [];
    const { maxSize, maxWeight = 1000, weightOf = () => 1 } = this.#options;
    let taken = 0;
    let weight = 0;
    for (const one of this.#waiting) {
      weight += weightOf(one.input);
      if (batch.length >= maxSize || (batch.length > 0 && weight > maxWeight)) break;
      taken++;
      if (one.signal?.aborted) one.reject(one.signal.reason);
      else batch.push(one);
    }
    this.#waiting = this.#waiting.slice(taken);
    return batch;
  }

  async #work(batch: readonly Waiting<Input, Output>[]): Promise<void> {
    this.#running++;
    this.#lanes.enter();
    try {
      await this.#run(batch);
    } finally {
      this.#running--;
      this.#lanes.leave();
    }
  }

  async #run(batch: readonly Waiting<Input, Output>[]): Promise<void> {
    let outputs: readonly (Output | Error)[];
    try {
      outputs = await this.#options.run(batch.map((one) => one.input));
    } catch (error) {
      if (batch.length > 1 && this.#options.runAlone(error)) {
        for (const one of batch) await this.#run([one]);
      } else {
        for (const one of batch) one.reject(error);
      }
      return;
    }
    batch.forEach((one, i) => {
      const output = outputs[i]!;
      if (output instanceof Error) one.reject(output);
      else one.resolve(output);
    });
  }
}
