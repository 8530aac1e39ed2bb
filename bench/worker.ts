import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a worker does for a while. */
export interface Work {
  /** Which of the worker's kinds of job. */
  readonly job: string;
  /** Callers at once: each sends its next request when it has the answer to the last. */
  readonly callers: number;
  /** In place of callers: so many requests a second, at random times, whatever becomes of those before. */
  readonly perSecond?: number | undefined;
  /** Milliseconds that count, after a tenth as much that does not. */
  readonly durationMs: number;
}

/** What a worker measured. */
export interface Measured {
  /** Jobs done in the time that counts. */
  readonly count: number;
  readonly durationMs: number;
  /** Milliseconds of each job, ascending; of a request that had to be sent at some time, from then on. */
  readonly latenciesMs: number[];
  /** Requests that the service refused in that time since it had too much to do. */
  readonly refused: number;
  /** Jobs that went wrong, by what was said. */
  readonly errors: Record<string, number>;
}

/** Does one job. Rejects when it went wrong. */
export type Job = () => Promise<unknown>;

/** The side of the process that does the work: a closed loop for each caller. */
export function serve(jobOf: (name: string, caller: number) => Job): void {
  process.on('message', (work: Work) => {
    const measure = work.perSecond === undefined ? closedLoop(work, jobOf) : openLoop(work, work.perSecond, jobOf);
    void measure.then((measured) => process.send!(measured));
  });
  process.on('disconnect', () => process.exit(0));
}

async function closedLoop(
  { job, callers, durationMs }: Work,
  jobOf: (name: string, caller: number) => Job,
): Promise<Measured> {
  const from = performance.now() + durationMs / 10;
  const to = from + durationMs;
  const latenciesMs: number[] = [];
  const errors: Record<string, number> = {};
  const call = async (caller: number) => {
    const once = jobOf(job, caller);
    for (let start = performance.now(); start < to;) {
      await once().catch((error: unknown) => note(errors, error));
      const end = performance.now();
      if (start >= from && end <= to) latenciesMs.push(end - start);
      start = end;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  return { count: latenciesMs.length, durationMs, latenciesMs: latenciesMs.sort((a, b) => a - b), refused: 0, errors };
}

const RESOURCE_EXHAUSTED = 8;

async function openLoop(
  { job, durationMs }: Work,
  perSecond: number,
  jobOf: (name: string, caller: number) => Job,
): Promise<Measured> {
  const from = performance.now() + durationMs / 10;
  const to = from + durationMs;
  const latenciesMs: number[] = [];
  const errors: Record<string, number> = {};
  let refused = 0;
  const once = jobOf(job, 0);
  const call = async (dueMs: number) => {
    const error = await once().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const end = performance.now();
    if (end < from || end > to) return;
    if (error === undefined) latenciesMs.push(end - dueMs);
    else if ((error as { code?: unknown }).code === RESOURCE_EXHAUSTED) refused++;
    else note(errors, error);
  };
  const calls: Promise<void>[] = [];
  // Exponential gaps: callers that know nothing of each other.
  for (let due = performance.now(); due < to; due -= (Math.log(1 - Math.random()) * 1000) / perSecond) {
    while (due > performance.now())
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
    calls.push(call(due));
  }
  await Promise.all(calls);
  return { count: latenciesMs.length, durationMs, latenciesMs: latenciesMs.sort((a, b) => a - b), refused, errors };
}

function note(errors: Record<string, number>, error: unknown): void {
  const text = String(error).slice(0, 120);
  errors[text] = (errors[text] ?? 0) + 1;
}

/** The side that gives the work: a process of its own, which ends with this one. */
export class Worker {
  readonly #child;

  constructor(script: string, args: readonly string[]) {
    this.#child = fork(fileURLToPath(new URL(script, import.meta.url)), args, { stdio: 'inherit' });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  run(work: Work): Promise<Measured> {
    return new Promise((resolve, reject) => {
      const died = () => reject(new Error('the worker has died'));
      this.#child.once('exit', died);
      this.#child.once('message', (measured: Measured) => {
        this.#child.off('exit', died);
        resolve(measured);
      });
      this.#child.send(work);
    });
  }

  stop(): Promise<void> {
    this.#child.disconnect();
    return Promise.resolve();
  }
}

/** The value that a share of the values, given ascending, does not exceed. */
export function percentile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? NaN;
}

export function median(values: readonly number[]): number {
  const ascending = values.toSorted((a, b) => a - b);
  const middle = Math.floor(ascending.length / 2);
  return ascending.length % 2 === 1 ? ascending[middle]! : (ascending[middle - 1]! + ascending[middle]!) / 2;
}
