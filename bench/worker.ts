import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a worker does for a while. */
export interface Work {
  /** Which of the worker's kinds of job. */
  readonly job: string;
  /** Callers at once: each sends its next request when it has the answer to the last. */
  readonly callers: number;
  /** Milliseconds that count, after a tenth as much that does not. */
  readonly durationMs: number;
}

/** What a worker measured. */
export interface Measured {
  /** Jobs done in the time that counts. */
  readonly count: number;
  readonly durationMs: number;
  /** Milliseconds of each job, ascending. */
  readonly latenciesMs: number[];
  /** Jobs that went wrong, by what was said. */
  readonly errors: Record<string, number>;
}

/** Does one job. Rejects when it went wrong. */
export type Job = () => Promise<unknown>;

/** The side of the process that does the work: a closed loop for each caller. */
export function serve(jobOf: (name: string, caller: number) => Job): void {
  process.on('message', (work: Work) => {
    void closedLoop(work, jobOf).then((measured) => process.send!(measured));
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
      await once().catch((error: unknown) => {
        const text = String(error).slice(0, 120);
        errors[text] = (errors[text] ?? 0) + 1;
      });
      const end = performance.now();
      if (start >= from && end <= to) latenciesMs.push(end - start);
      start = end;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)));
  return { count: latenciesMs.length, durationMs, latenciesMs: latenciesMs.sort((a, b) => a - b), errors };
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
