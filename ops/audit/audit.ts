import type { Sequelize } from 'sequelize';
import { select } from '../../runtime/db/statements.ts';
import type { Databases } from './databases.ts';
import type { Finding } from './findings.ts';
import { judge } from './judge.ts';
import { readTraces } from './read-orders.ts';
import { readDeductions } from './read-stock.ts';
import { findKeysOfTwo, findWrongProducts } from './sums.ts';

/** Numbers that are held against each other at once: what bounds the memory, since one may have a hundred items. */
const PAGE = 2_000;
/** Behind every number: they are of ASCII, and this is its last character that can be seen. */
const END = '~'.repeat(32);

export interface AuditOptions {
  /** Findings after which it ends. Default 100. */
  limit?: number;
  /** Only numbers after this one; sums of products, and keys, are always looked at whole. Default: all. */
  from?: string;
  /** How long events are kept: an older order may be without. Default: for ever. */
  retentionMs?: number | undefined;
  /** Called as it goes on, with how many numbers it has behind it. */
  onProgress?: (numbers: number) => void;
}

/**
 * Everything that holds always, over both databases, whatever is at work on them meanwhile: `judge` says why. Reads page by page, both
 * sides in the order of the numbers. Returns what is broken, `limit` findings at most.
 */
export async function findBrokenRules(databases: Databases, options: AuditOptions = {}): Promise<Finding[]> {
  const { limit = 100, retentionMs, onProgress } = options;
  const findings = await findWrongProducts(databases.stock, limit);
  findings.push(...(await findKeysOfTwo(databases.order, limit)));
  let from = options.from ?? '';
  let numbers = 0;
  while (from !== END && findings.length < limit) {
    const page = { from, to: await endOfPage(databases, from) };
    const deductions = await readDeductions(databases.stock, page);
    const traces = await readTraces(databases.order, page, retentionMs);
    const all = new Set([...deductions.keys(), ...traces.keys()]);
    const suspects = [...all].filter((orderNo) => {
      const deduction = deductions.get(orderNo);
      return judge(orderNo, deduction, traces.get(orderNo), deduction).length > 0;
    });
    findings.push(...(await judgeNumbers(databases, suspects, retentionMs)));
    onProgress?.((numbers += all.size));
    from = page.to;
  }
  return findings.slice(0, limit);
}

/** What is wrong with these numbers, by the three looks that `judge` asks for. */
export async function judgeNumbers(
  { order, stock }: Databases,
  numbers: readonly string[],
  retentionMs?: number,
): Promise<Finding[]> {
  if (numbers.length === 0) return [];
  const before = await readDeductions(stock, numbers);
  const traces = await readTraces(order, numbers, retentionMs);
  const after = await readDeductions(stock, numbers);
  return numbers.flatMap((orderNo) => judge(orderNo, before.get(orderNo), traces.get(orderNo), after.get(orderNo)));
}

/** The last number of the page that begins after `from`. */
async function endOfPage({ order, stock }: Databases, from: string): Promise<string> {
  const last = async (db: Sequelize, table: string): Promise<string> => {
    const [row] = await select<{ order_no: string }>(
      db,
      `SELECT order_no FROM ${table} WHERE order_no > ? ORDER BY order_no LIMIT 1 OFFSET ?`,
      [from, PAGE - 1],
    );
    return row?.order_no ?? END;
  };
  const [ofHeaders, ofOrders] = await Promise.all([last(stock, 't_stock_deduction'), last(order, 't_order')]);
  return ofHeaders < ofOrders ? ofHeaders : ofOrders;
}
