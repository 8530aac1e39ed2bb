/** One line of the table: a kind of job, at so many callers. */
export interface Row {
  readonly name: string;
  readonly job: string;
  readonly callers: number;
  /** Who does it: the database alone, or order-svc; `two`: two processes of each service. */
  readonly by: 'floor' | 'services' | 'two';
  /** The row that its ratio is to; a floor has none. */
  readonly to?: string;
  /** Runs once, after all others, with so many orders put there before. */
  readonly ordersBefore?: number;
  /** In place of callers: requests come at so many times the rate that the row it is compared with had in the same round. */
  readonly load?: number;
  /** Part of `--quick`. */
  readonly quick?: boolean;
}

export const rows: readonly Row[] = [
  { name: 'floor-1', job: 'any', callers: 1, by: 'floor', quick: true },
  { name: 'floor-16', job: 'any', callers: 16, by: 'floor' },
  { name: 'floor-64', job: 'any', callers: 64, by: 'floor', quick: true },
  { name: 'floor-hot-64', job: 'hot', callers: 64, by: 'floor', quick: true },
  { name: 'fresh-1', job: 'fresh', callers: 1, by: 'services', to: 'floor-1', quick: true },
  { name: 'fresh-16', job: 'fresh', callers: 16, by: 'services', to: 'floor-16' },
  { name: 'fresh-64', job: 'fresh', callers: 64, by: 'services', to: 'floor-64', quick: true },
  { name: 'fresh-256', job: 'fresh', callers: 256, by: 'services', to: 'floor-64' },
  { name: 'overload-1x', job: 'offered', callers: 0, by: 'services', to: 'fresh-256', load: 1 },
  { name: 'overload-2x', job: 'offered', callers: 0, by: 'services', to: 'fresh-256', load: 2 },
  { name: 'overload-3x', job: 'offered', callers: 0, by: 'services', to: 'fresh-256', load: 3 },
  { name: 'items5-64', job: 'items5', callers: 64, by: 'services', to: 'floor-64' },
  { name: 'hot-64', job: 'hot', callers: 64, by: 'services', to: 'floor-hot-64', quick: true },
  { name: 'replay-one-64', job: 'replay-one', callers: 64, by: 'services', to: 'fresh-64' },
  { name: 'replay-many-64', job: 'replay-many', callers: 64, by: 'services', to: 'fresh-64', quick: true },
  { name: 'pairs-64', job: 'pairs', callers: 32, by: 'services', to: 'floor-64' },
  { name: 'soldout-64', job: 'soldout', callers: 64, by: 'services', to: 'floor-64' },
  { name: 'get-64', job: 'get', callers: 64, by: 'services', to: 'fresh-64' },
  { name: 'two-by-two-64', job: 'fresh', callers: 64, by: 'two', to: 'floor-64' },
  { name: 'scale-1m-64', job: 'fresh', callers: 64, by: 'services', to: 'fresh-64', ordersBefore: 1_000_000 },
];
