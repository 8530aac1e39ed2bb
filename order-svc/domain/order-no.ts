// 63 bits: time, worker, sequence, gene. Twitter's snowflake with the low 8 bits given to the user, so that orders can later be
// sharded by user and found by number alone.
const GENE_BITS = 8n;
const SEQUENCE_BITS = 7n;
const WORKER_BITS = 7n;

/** Processes that can make numbers at once. */
export const WORKERS = 2 ** Number(WORKER_BITS);
/** Numbers of one worker in one millisecond. */
export const SEQUENCES = 2 ** Number(SEQUENCE_BITS);
/** Time counts from here: 41 bits of milliseconds last until 2095. */
export const EPOCH_MS = Date.UTC(2026, 0, 1);

/** What a caller may take for a number. */
export const ORDER_NO_PATTERN = /^[1-9]\d{0,18}$/;
export const ORDER_NO_RULE = 'must be 1 to 19 decimal digits';

/** What a number is made of. */
export interface OrderNoParts {
  /** Milliseconds since 1970, not before EPOCH_MS. */
  readonly timeMs: number;
  readonly worker: number;
  readonly sequence: number;
  /** user_id % 256. */
  readonly gene: number;
}

export function geneOf(userId: bigint): number {
  return Number(userId % 2n ** GENE_BITS);
}

/** The number as decimal text: 1 to 19 digits. */
export function encodeOrderNo({ timeMs, worker, sequence, gene }: OrderNoParts): string {
  const time = BigInt(timeMs - EPOCH_MS);
  if (time < 0n || time >= 2n ** 41n) throw new RangeError(`the clock is out of range: ${timeMs}`);
  const number = (((time << WORKER_BITS) | BigInt(worker)) << SEQUENCE_BITS) | BigInt(sequence);
  return String((number << GENE_BITS) | BigInt(gene));
}

export function decodeOrderNo(orderNo: string): OrderNoParts {
  const number = BigInt(orderNo);
  const field = (shift: bigint, bits: bigint) => Number((number >> shift) & (2n ** bits - 1n));
  return {
    timeMs: EPOCH_MS + Number(number >> (GENE_BITS + SEQUENCE_BITS + WORKER_BITS)),
    worker: field(GENE_BITS + SEQUENCE_BITS, WORKER_BITS),
    sequence: field(GENE_BITS, SEQUENCE_BITS),
    gene: field(0n, GENE_BITS),
  };
}
