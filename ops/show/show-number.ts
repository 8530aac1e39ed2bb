import type { Databases } from '../audit/databases.ts';
import { judgeNumbers } from '../audit/audit.ts';
import { type Claim, findClaim } from '../db/find-claims.ts';
import { type Deduction, findDeduction } from '../db/find-deduction.ts';
import { findEventsOf } from '../db/find-events.ts';
import { findOrder, type Order } from '../db/find-order.ts';
import { status } from '../failure.ts';
import { eventLines } from './event-lines.ts';
import { findingJson } from './finding-json.ts';
import { moment, money, print, printJson } from './print.ts';
import { fields, table } from './table.ts';

/** Shows all that is known of a number. `about` stands before it in JSON. Returns the exit status. */
export async function showNumber(
  databases: Databases,
  orderNo: string,
  options: { json?: true; about?: object },
): Promise<number> {
  const order = await findOrder(databases.order, orderNo);
  const claim = await findClaim(databases.order, 'order_no', orderNo);
  const events = await findEventsOf(databases.order, orderNo);
  const deduction = await findDeduction(databases.stock, orderNo);
  // Of an old order the events may have been deleted.
  const findings = (await judgeNumbers(databases, [orderNo], 0)).map((finding) => findingJson(finding));
  const isThere = order ?? claim ?? deduction ?? events[0];
  if (options.json) {
    const found = { order: order ?? null, claim: claim ?? null, deduction: deduction ?? null, events, findings };
    printJson({ ...options.about, order_no: orderNo, ...found });
  } else {
    if (order) print(...orderLines(order), '');
    if (claim) print(...claimLines(claim), '');
    if (deduction) print(...deductionLines(deduction), '');
    if (events.length > 0) print(...eventLines(events), '');
    if (!isThere) print(`there is no trace of ${orderNo}`);
    else if (findings.length === 0) print('no rule is broken');
    else print(...findings.map(({ rule, message }) => `BROKEN ${rule}: ${message}`));
  }
  return isThere && findings.length === 0 ? status.fine : status.wrong;
}

function orderLines(order: Order): string[] {
  const { order_no, status: state, user_id, client_request_id, total_amount_cents, create_time, items } = order;
  return [
    ...fields({
      order: order_no,
      status: state,
      user_id,
      client_request_id: client_request_id ?? '(none)',
      total: money(BigInt(total_amount_cents)),
      created: moment(create_time),
      ...(order.pay_time && { paid: `${moment(order.pay_time)} by ${order.payment_no}` }),
      ...(order.cancel_time && {
        cancelled: `${moment(order.cancel_time)} by ${order.cancelled_by} ${order.cancel_reason ?? ''}`.trimEnd(),
      }),
    }),
    '',
    ...table(
      [{ name: 'product', right: true }, { name: 'pieces', right: true }, { name: 'each', right: true }, 'title'],
      items.map((item) => [item.product_id, item.quantity, money(BigInt(item.unit_price_cents)), item.title]),
    ),
  ];
}

function claimLines({ order_no, client_request_id, user_id, expire_time, expired, items }: Claim): string[] {
  return fields({
    claim: order_no,
    client_request_id: client_request_id ?? '(none)',
    user_id,
    [expired ? 'expired' : 'expires']: moment(expire_time),
    items: JSON.stringify(items),
  });
}

function deductionLines({ state, create_time, update_time, records }: Deduction): string[] {
  return [
    ...fields({ stock: state ?? '(no header)', deducted: moment(create_time), changed: moment(update_time) }),
    ...(records.length === 0 ? [] : ['']),
    ...(records.length === 0
      ? []
      : table(
          ['ledger', { name: 'product', right: true }, { name: 'pieces', right: true }, 'time'],
          records.map((row) => [row.type, row.product_id, row.quantity, moment(row.create_time)]),
        )),
  ];
}
