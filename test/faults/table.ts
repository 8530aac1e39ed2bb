/** What became of one kind of faults. */
export interface Result {
  name: string;
  cases: number;
  faults: number;
  requests: number;
  orders: number;
  violations: number;
  /** The longest that a case took to settle once its load was over, in milliseconds. */
  settleMs: number;
}

const columns = ['cases', 'faults', 'requests', 'orders', 'violations', 'settleMs'] as const;

/** The results as lines for people. */
export function table(results: readonly Result[]): string[] {
  const width = (text: string) => text.padStart(11);
  const head = 'kind'.padEnd(12) + columns.map(width).join('');
  return [
    head,
    ...results.map(
      (result) => result.name.padEnd(12) + columns.map((column) => width(String(result[column]))).join(''),
    ),
  ];
}
