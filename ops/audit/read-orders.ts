import type { Sequelize } from 'sequelize';
import { among, type Numbers, readTogether } from './read-together.ts';

/** What order-svc knows of a number. */
export interface Trace {
  /** Undefined: there is no order. CANCELLED is for ever. */
  status?: string;
  /** There is a payment of its total that is bound to it. */
  paid: boolean;
  /** The order is so young that all of its events must still be there. */
  young: boolean;
  totalCents: bigint;
  itemsCents: bigint;
  /** `1×2, 5×1`, as in a deduction. */
  bought: string;
  claimed: boolean;
  /** How many there are of each type. */
  events: Map<string, number>;
  /** A STOCK_RESTORE event that is not SENT. */
  restoring: boolean;
}

interface OrderRow {
  order_no: string;
  status: string;
  total_cents: string;
  paid: number;
  young: number;
}
interface ItemRow {
  order_no: string;
  product_id: string;
  quantity: string;
  unit_price_cents: string;
}
interface EventRow {
  order_no: string;
  event_type: string;
  sent: number;
}
type Results = [OrderRow[], ItemRow[], { order_no: string }[], EventRow[]];

/** Reads orders, claims and events, all at one moment. Events of orders younger than `retentionMs` must all be there. */
export async function readTraces(
  order: Sequelize,
  numbers: Numbers,
  retentionMs: number | undefined,
): Promise<Map<string, Trace>> {
  const { sql, values } = among(numbers);
  const young = retentionMs === undefined ? '1' : 'create_time > UTC_TIMESTAMP(3) - INTERVAL ? MICROSECOND';
  const [orders, items, claims, events] = await readTogether<Results>(order, [
    {
      sql: `SELECT order_no, status, CAST(total_amount * 100 AS SIGNED) AS total_cents, ${young} AS young,
          EXISTS (SELECT 1 FROM t_payment p WHERE p.payment_no = o.payment_no AND p.order_no = o.order_no
            AND p.amount_cents = CAST(o.total_amount * 100 AS SIGNED)) AS paid
        FROM t_order o WHERE ${sql}`,
      values: [...(retentionMs === undefined ? [] : [retentionMs * 1000]), ...values],
    },
    { sql: `SELECT order_no, product_id, quantity, unit_price_cents FROM t_order_item WHERE ${sql}`, values },
    { sql: `SELECT order_no FROM t_order_claim WHERE ${sql}`, values },
    { sql: `SELECT order_no, event_type, status = 'SENT' AS sent FROM t_event_record WHERE ${sql}`, values },
  ]);
  const traces = new Map<string, Trace>();
  const traceOf = (orderNo: string): Trace => {
    let trace = traces.get(orderNo);
    if (!trace) traces.set(orderNo, (trace = nothing()));
    return trace;
  };
  for (const row of orders) {
    const trace = traceOf(row.order_no);
    trace.status = row.status;
    trace.young = Number(row.young) === 1;
    trace.paid = Number(row.paid) === 1;
    trace.totalCents = BigInt(row.total_cents);
  }
  for (const [orderNo, lines] of Map.groupBy(items, (item) => item.order_no)) {
    const trace = traceOf(orderNo);
    trace.bought = boughtIn(lines);
    trace.itemsCents = lines.reduce((sum, line) => sum + BigInt(line.quantity) * BigInt(line.unit_price_cents), 0n);
  }
  for (const row of claims) traceOf(row.order_no).claimed = true;
  for (const row of events) {
    const trace = traceOf(row.order_no);
    trace.events.set(row.event_type, (trace.events.get(row.event_type) ?? 0) + 1);
    if (row.event_type === 'STOCK_RESTORE' && Number(row.sent) === 0) trace.restoring = true;
  }
  return traces;
}

function nothing(): Trace {
  return {
    paid: false,
    young: false,
    totalCents: 0n,
    itemsCents: 0n,
    bought: '',
    claimed: false,
    events: new Map(),
    restoring: false,
  };
}

/** Lines of one product are summed, as stock-svc does. */
function boughtIn(lines: readonly ItemRow[]): string {
  const quantities = new Map<bigint, bigint>();
  for (const { product_id: id, quantity } of lines)
    quantities.set(BigInt(id), (quantities.get(BigInt(id)) ?? 0n) + BigInt(quantity));
  return [...quantities]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([productId, quantity]) => `${productId}×${quantity}`)
    .join(', ');
}
