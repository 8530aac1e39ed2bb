import { readFile } from 'node:fs/promises';
import { usageOf } from '../../bench/usage.ts';

/** A process that lives through it all. */
export interface Lasting {
  /** Its process group. */
  readonly pid: number;
  /** Where it writes how many bytes it keeps. */
  readonly heapFile: string;
}

/** One second of a soak. */
interface Sample {
  readonly purchasesPerSecond: number;
  /** Of the processes that live through it all. */
  readonly rssBytes: number;
  /** What is left of the memory once all garbage is collected. */
  readonly keptBytes: number;
  readonly handles: number;
  /** No fault, and none just over. */
  readonly calm: boolean;
}

/** Growth that is none: what is in work at one moment. */
const ALLOWED_GROWTH = 1.2;

/** Watches load and processes, second by second. */
export class SoakMeter {
  readonly #samples: Sample[] = [];
  readonly #lasting: readonly Lasting[];
  readonly #purchases: () => number;
  #last: { count: number; atMs: number };

  /** @param lasting what to watch; @param purchases how many there have been. */
  constructor(lasting: readonly Lasting[], purchases: () => number) {
    this.#lasting = lasting;
    this.#purchases = purchases;
    this.#last = { count: purchases(), atMs: performance.now() };
  }

  /** Purchases per second since the last sample. */
  async sample(calm: boolean): Promise<number> {
    const now = { count: this.#purchases(), atMs: performance.now() };
    const purchasesPerSecond = ((now.count - this.#last.count) * 1000) / (now.atMs - this.#last.atMs);
    this.#last = now;
    const usages = await Promise.all(this.#lasting.map(({ pid }) => usageOf({ name: '', pid })));
    const kept = await Promise.all(this.#lasting.map(({ heapFile }) => readFile(heapFile, 'utf8').catch(() => '')));
    const keptBytes = kept.reduce((total, bytes) => total + Number(bytes), 0);
    const sum = (of: 'rssBytes' | 'handles') => usages.reduce((total, usage) => total + usage[of], 0);
    const [rssBytes, handles] = [sum('rssBytes'), sum('handles')];
    this.#samples.push({ purchasesPerSecond, rssBytes, keptBytes, handles, calm });
    return purchasesPerSecond;
  }

  /** Purchases per second when nothing is wrong. */
  get usual(): number {
    return median(this.#samples.filter(({ calm }) => calm).map(({ purchasesPerSecond }) => purchasesPerSecond));
  }

  /** The last second, for people. */
  get line(): string {
    const { purchasesPerSecond, rssBytes, keptBytes, handles } = this.#samples.at(-1)!;
    return `${purchasesPerSecond.toFixed(0)} purchases/s, ${mebibytes(keptBytes)} MiB kept of ${mebibytes(rssBytes)}, ${handles} handles`;
  }

  /** What has grown from the second fifth of the time (the first one is warm-up) to the last. */
  growth(): { summary: string[]; violations: string[] } {
    const summary: string[] = [];
    const violations: string[] = [];
    for (const [what, read] of [
      ['MiB kept', ({ keptBytes }: Sample) => mebibytes(keptBytes)],
      ['handles', ({ handles }: Sample) => handles],
    ] as const) {
      const [from, to] = [median(this.#fifth(1).map(read)), median(this.#fifth(4).map(read))];
      summary.push(`${what}: ${from} at first, ${to} in the end`);
      // There is no way to keep nothing. Handles are not seen on a machine without /proc.
      if (what === 'MiB kept' && to === 0) violations.push('nobody said how much memory is kept');
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
