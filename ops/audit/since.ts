import { encodeOrderNo, EPOCH_MS } from '../../order-svc/domain/order-no.ts';

/** A number is made before its order is written, by another clock: so much earlier it may be. */
const MARGIN_MS = 10 * 60_000;

/** The number after which all orders since `timeMs` are; empty: it has to be all of them. */
export function numberBefore(timeMs: number, nowMs: number): string {
  const at = (ms: number) => encodeOrderNo({ timeMs: Math.max(ms, EPOCH_MS), worker: 0, sequence: 0, gene: 0 });
  const number = at(timeMs - MARGIN_MS);
  // Numbers are compared as text, which agrees with time only among those of one length.
  return number.length === at(nowMs + MARGIN_MS).length ? number : '';
}
