import type { Check } from './checks.ts';

export interface Row {
  readonly name: string;
  readonly caller: string;
  /** What is wrong; undefined: nothing. */
  readonly failure: string | undefined;
}

/** Runs one after the other: some start a process each. */
export async function* runChecks(checks: readonly Check[]): AsyncGenerator<Row> {
  for (const { name, caller, run } of checks) {
    const failure = await run().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    yield { name, caller, failure };
  }
}
