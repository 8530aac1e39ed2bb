/** What must hold always, and what a finding of it means. The names are stable: programs may go by them. */
export const rules = {
  LEDGER_SUM: "a product's available is not received − deducted + restored, or below 0",
  LEDGER_HEADER: "an order's ledger is not what the state of its header says",
  KEY_TWICE: 'a client_request_id has more than one order',
  CLAIM_AND_ORDER: 'a number has a claim and an order at once',
  STOCK_TAKEN_FOR_NOTHING: 'stock is taken, and there is no order, claim or STOCK_RESTORE event',
  STOCK_NOT_TAKEN: 'an order has taken no stock',
  STOCK_GIVEN_BACK: 'the stock of an order not CANCELLED was given back, or is about to be',
  ORDER_WITHOUT_ITEMS: 'an order has no items',
  ITEMS_DIFFER: 'an order has bought other items than it has taken',
  TOTAL_DIFFERS: "an order's total is not the sum of its items",
  PAYMENT_MISSING: 'a PAID order has no payment of its total',
  EVENT_COUNT: 'an order has not exactly one event of each thing that became of it',
  EVENT_DEAD: 'an event has failed its last attempt',
} as const;

export type Rule = keyof typeof rules;

/** What `audit --repair` does about a finding. */
export type Repair = 'STAGE_RESTORE' | 'REQUEUE';

/** A rule that is broken, and by what. */
export interface Finding {
  readonly rule: Rule;
  readonly orderNo?: string;
  readonly productId?: string;
  readonly clientRequestId?: string;
  readonly eventId?: string;
  /** For people; names what it is about. */
  readonly message: string;
  /** Undefined: nothing can be done about it safely without a person who decides. */
  readonly repair?: Repair;
}
