import { createHash } from 'node:crypto';

/** Random numbers, 0 ≤ n < 1, which the same seed gives again. */
export function seeded(seed: number): () => number {
  let count = 0;
  return () => createHash('sha256').update(`${seed} ${count++}`).digest().readUInt32BE() / 2 ** 32;
}
