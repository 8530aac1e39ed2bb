import { setImmediate as turn } from 'node:timers/promises';
import { GroupCommit, type GroupCommitOptions } from '../../runtime/group-commit.ts';

/** What a batch fails with that can be run again, one by one. */
export class RolledBack extends Error {}

/** A batch that stands still until the test says how it ends. */
export interface Job {
  readonly inputs: readonly string[];
  /** Ends it well. By default each input gets its own answer. */
  done(outputs?: readonly (string | Error)[]): Promise<void>;
  fail(error: Error): Promise<void>;
}

/** A GroupCommit of letters whose batches the test ends by hand. */
export class Rig {
  /** Every batch that was begun, in order. */
  readonly jobs: Job[] = [];
  readonly commit: GroupCommit<string, string>;

  constructor(options: Partial<GroupCommitOptions<string, string>> = {}) {
    this.commit = new GroupCommit({
      run: (inputs) => this.#begin(inputs),
      runAlone: (error) => error instanceof RolledBack,
      maxSize: 3,
      ...options,
    });
  }

  /** What each batch had in it, in the order in which they were begun. */
  get sent(): string[] {
    return this.jobs.map(({ inputs }) => inputs.join(''));
  }

  /** What each letter was answered so far. */
  readonly answers: Record<string, unknown> = {};

  /** Submits each letter in this turn. */
  submit(letters: string, signal?: AbortSignal): void {
    for (const letter of letters) {
      this.commit.submit(letter, signal).then(
        (output) => (this.answers[letter] = output),
        (error: unknown) => (this.answers[letter] = rejected(error)),
      );
    }
  }

  /** The same, and everything has run that it brings about. */
  submitted(letters: string, signal?: AbortSignal): Promise<void> {
    this.submit(letters, signal);
    return settled();
  }

  #begin(inputs: readonly string[]): Promise<readonly (string | Error)[]> {
    return new Promise((resolve, reject) => {
      this.jobs.push({
        inputs,
        done(outputs = inputs.map(answerTo)) {
          resolve(outputs);
          return settled();
        },
        fail(error) {
          reject(error);
          return settled();
        },
      });
    });
  }
}

/** Resolves when everything has run that was brought about, over a few turns of the event loop. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await turn();
}

/** Each letter with its own answer. */
export function answersTo(letters: string): Record<string, string> {
  return Object.fromEntries([...letters].map((letter) => [letter, answerTo(letter)]));
}

export function rejected(error: unknown) {
  return { rejected: error };
}

export function answerTo(input: string): string {
  return `answer to ${input}`;
}
