import type { Row } from './rows.ts';
import { type Measured, median, percentile } from './worker.ts';

/** One round of a row. */
export interface Sample extends Measured {
  /** Microseconds of CPU for each job, by process. */
  readonly cpuUs: Readonly<Record<string, number>>;
}

/** A row as it is reported: medians over its rounds. */
export interface Result {
  readonly name: string;
  readonly ordersPerSecond: number;
  /** To the row that it is compared with; the median of the rounds' ratios. */
  readonly ratio: number | null;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Requests that were refused since there was too much to do. */
  readonly refusedPerSecond: number;
  readonly errors: number;
  readonly cpuUs: Readonly<Record<string, number>>;
}

export function summarise(row: Row, samples: ReadonlyMap<string, readonly Sample[]>): Result {
  const own = samples.get(row.name)!;
  const rates = own.map(rate);
  const base = row.to === undefined ? undefined : samples.get(row.to)!.map(rate);
  const processes = Object.keys(own[0]!.cpuUs);
  return {
    name: row.name,
    ordersPerSecond: Math.round(median(rates)),
    ratio: base ? round(median(rates.map((one, i) => one / base[i]!)), 2) : null,
    p50Ms: round(median(own.map((sample) => percentile(sample.latenciesMs, 0.5))), 2),
    p99Ms: round(median(own.map((sample) => percentile(sample.latenciesMs, 0.99))), 2),
    refusedPerSecond: Math.round(median(own.map(({ refused, durationMs }) => refused / (durationMs / 1000)))),
    errors: own.reduce((sum, sample) => sum + Object.values(sample.errors).reduce((a, b) => a + b, 0), 0),
    cpuUs: Object.fromEntries(
      processes.map((name) => [name, Math.round(median(own.map((sample) => sample.cpuUs[name]!)))]),
    ),
  };
}

export function rate({ count, durationMs }: Measured): number {
  return count / (durationMs / 1000);
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** The lines of the table for a person. */
export function table(database: string, results: readonly Result[]): string[] {
  const processes = Object.keys(results[0]!.cpuUs);
  const head = [
    'row',
    'orders/s',
    'ratio',
    'p50 ms',
    'p99 ms',
    'refused/s',
    'errors',
    ...processes.map((name) => `${name} µs`),
  ];
  const body = results.map((result) => [
    result.name,
    String(result.ordersPerSecond),
    result.ratio === null ? '' : result.ratio.toFixed(2),
    result.p50Ms.toFixed(2),
    result.p99Ms.toFixed(2),
    String(result.refusedPerSecond),
    String(result.errors),
    ...processes.map((name) => String(result.cpuUs[name])),
  ]);
  const widths = head.map((_, i) => Math.max(...[head, ...body].map((line) => line[i]!.length)));
  const line = (cells: string[]) =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ');
  return [database, line(head), ...body.map(line)];
}
