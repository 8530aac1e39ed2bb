import { usageOf } from '../../bench/usage.ts';

/** One second of a soak. */
interface Sample {
  readonly purchasesPerSecond: number;
  /** Of the processes that live through it all. */
  readonly rssBytes: number;
  readonly handles: number;
  /** No fault, and none just over. */
  readonly calm: boolean;
}

/** Growth that is none: a garbage collector's mood. */
const ALLOWED_GROWTH = 1.2;

/** Watches load and processes, second by second. */
export class SoakMeter {
  readonly #samples: Sample[] = [];
  readonly #pids: readonly number[];
  readonly #purchases: () => number;
  #last: { count: number; atMs: number };

  /** @param pids the process groups to watch; @param purchases how many there have been. */
  constructor(pids: readonly number[], purchases: () => number) {
    this.#pids = pids;
    this.#purchases = purchases;
    this.#last = { count: purchases(), atMs: performance.now() };
  }

  /** Purchases per second since the last sample. */
  async sample(calm: boolean): Promise<number> {
    const now = { count: this.#purchases(), atMs: performance.now() };
    const purchasesPerSecond = ((now.count - this.#last.count) * 1000) / (now.atMs - this.#last.atMs);
    this.#last = now;
    const usages = await Promise.all(this.#pids.map((pid) => usageOf({ name: '', pid })));
    const sum = (of: 'rssBytes' | 'handles') => usages.reduce((total, usage) => total + usage[of], 0);
    this.#samples.push({ purchasesPerSecond, rssBytes: sum('rssBytes'), handles: sum('handles'), calm });
    return purchasesPerSecond;
  }

  /** Purchases per second when nothing is wrong. */
  get usual(): number {
    return median(this.#samples.filter(({ calm }) => calm).map(({ purchasesPerSecond }) => purchasesPerSecond));
  }

  /** The last second, for people. */
  get line(): string {
    const { purchasesPerSecond, rssBytes, handles } = this.#samples.at(-1)!;
    return `${purchasesPerSecond.toFixed(0)} purchases/s, ${mebibytes(rssBytes)} MiB, ${handles} handles`;
  }

  /** What has grown from the second fifth of the time (the first one is warm-up) to the last. */
  growth(): { summary: string[]; violations: string[] } {
    const summary: string[] = [];
    const violations: string[] = [];
    for (const [what, read] of [
      ['MiB', ({ rssBytes }: Sample) => mebibytes(rssBytes)],
      ['handles', ({ handles }: Sample) => handles],
    ] as const) {
      const [from, to] = [median(this.#fifth(1).map(read)), median(this.#fifth(4).map(read))];
      summary.push(`${what}: ${from} at first, ${to} in the end`);
      if (to > from * ALLOWED_GROWTH) violations.push(`${what} grew from ${from} to ${to}`);
    }
    return { summary, violations };
  }

  #fifth(n: number): Sample[] {
    const { length } = this.#samples;
    return this.#samples.slice(Math.floor((length * n) / 5), Math.floor((length * (n + 1)) / 5));
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
