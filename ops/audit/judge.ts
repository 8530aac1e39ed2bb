import type { Finding } from './findings.ts';
import type { Trace } from './read-orders.ts';
import type { Deduction } from './read-stock.ts';

/**
 * What is wrong with one number, seen in three looks one after the other: at stock-svc's database, at order-svc's, and at
 * stock-svc's again.
 *
 * The two databases share no snapshot, and need none: a header goes one way only, from none to DEDUCTED to RESTORED, and its ledger
 * rows never change. DEDUCTED before and after was DEDUCTED in between, none after was none in between, RESTORED before was RESTORED
 * in between. So whatever is judged here was true, on both sides, at the one moment of the second look, and a request at work breaks no
 * rule at any moment.
 */
export function judge(
  orderNo: string,
  before: Deduction | undefined,
  trace: Trace | undefined,
  after: Deduction | undefined,
): Finding[] {
  const findings: Finding[] = [];
  const found = (rule: Finding['rule'], message: string, repair?: Finding['repair']) =>
    findings.push({ rule, orderNo, message, ...(repair && { repair }) });

  const status = trace?.status;
  const live = status !== undefined && status !== 'CANCELLED';
  const covered = live || trace?.claimed || trace?.restoring;
  if (before?.state === 'DEDUCTED' && after?.state === 'DEDUCTED' && !covered) {
    const why = status === undefined ? 'there is no order' : `the order is ${status}`;
    found('STOCK_TAKEN_FOR_NOTHING', `${orderNo} took ${before.taken}, and ${why}`, 'STAGE_RESTORE');
  }
  const header = before && wrongHeader(before);
  if (header !== undefined) found('LEDGER_HEADER', `${orderNo}: ${header}`);
  if (!trace || status === undefined) return findings;

  const name = `order ${orderNo} (${status})`;
  if (trace.claimed) found('CLAIM_AND_ORDER', `${name} has a claim too`);
  if (live && before?.state === 'RESTORED') found('STOCK_GIVEN_BACK', `the stock of ${name} was given back`);
  else if (live && trace.restoring) found('STOCK_GIVEN_BACK', `the stock of ${name} is about to be given back`);
  if (trace.bought === '') found('ORDER_WITHOUT_ITEMS', `${name} has no items`);
  else {
    const { bought, totalCents, itemsCents } = trace;
    const taken = after?.taken ?? '';
    if (taken === '') found('STOCK_NOT_TAKEN', `${name} bought ${bought}, took nothing`);
    else if (taken !== bought) found('ITEMS_DIFFER', `${name} bought ${bought}, took ${taken}`);
    if (totalCents !== itemsCents)
      found('TOTAL_DIFFERS', `${name} has a total of ${totalCents} cents, its items come to ${itemsCents}`);
  }
  if (status === 'PAID' && !trace.paid) found('PAYMENT_MISSING', `${name} has no payment of its total`);
  for (const eventType of ['ORDER_CREATED', 'ORDER_PAID', 'ORDER_CANCELLED']) {
    const count = trace.events.get(eventType) ?? 0;
    const due = eventType === 'ORDER_CREATED' || eventType === `ORDER_${status}` ? 1 : 0;
    if (count > due || (count < due && trace.young)) found('EVENT_COUNT', `${name} has ${count} ${eventType} events`);
  }
  return findings;
}

/** Header and ledger are written in one transaction, and read at one moment. */
function wrongHeader({ state, taken, givenBack }: Deduction): string | undefined {
  if (state === undefined) return `took ${taken || 'nothing'}, gave back ${givenBack || 'nothing'}, and has no header`;
  if (state === 'DEDUCTED' && taken === '') return 'its header says DEDUCTED, its ledger has nothing';
  if (givenBack === (state === 'RESTORED' ? taken : '')) return undefined;
  return `its header says ${state}; it took ${taken || 'nothing'} and gave back ${givenBack || 'nothing'}`;
}
