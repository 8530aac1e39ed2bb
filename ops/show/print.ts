/** For people: lines on standard output. */
export function print(...lines: string[]): void {
  for (const line of lines) process.stdout.write(`${line}\n`);
}

/**
 * For programs: one JSON document, on one line. Names are snake_case and stay; what can be over 2^53 is text, as in the JSON of
 * protobuf; times are ISO 8601 in UTC; what is not there is null.
 */
export function printJson(document: object): void {
  print(JSON.stringify(document, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)));
}

/** Cents as people write them. */
export function money(cents: bigint): string {
  const text = String(cents < 0n ? -cents : cents).padStart(3, '0');
  return `${cents < 0n ? '-' : ''}${text.slice(0, -2)}.${text.slice(-2)}`;
}

/** `2026-11-30 20:32:21.123`, in UTC. */
export function moment(time: Date | null): string {
  return time === null ? '' : time.toISOString().slice(0, -1).replace('T', ' ');
}
