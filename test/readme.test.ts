import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Code } from '@connectrpc/connect';
import { z } from 'zod';
import { rules } from '../ops/audit/findings.ts';
import { variables } from '../ops/config.ts';
import { OrderService } from '../gen/ordersystem/order/v1/order_service_pb.ts';
import { StockService } from '../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { loadOrderConfig } from '../order-svc/config.ts';
import { orderReasons } from '../order-svc/domain/reasons.ts';
import { orderDeadlines } from '../order-svc/rpc/deadlines.ts';
import type { Reason } from '../runtime/rpc/errors.ts';
import { loadStockConfig } from '../stock-svc/config.ts';
import { stockReasons } from '../stock-svc/domain/reasons.ts';
import { stockDeadlines } from '../stock-svc/rpc/deadlines.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const proto = ['order', 'stock']
  .map((name) =>
    readFileSync(new URL(`../proto/ordersystem/${name}/v1/${name}_service.proto`, import.meta.url), 'utf8'),
  )
  .join();

/** The rows of the table under a heading, cells without their back quotes. */
function table(heading: string): string[][] {
  const section = readme.split(/^#+ /m).find((text) => text.startsWith(`${heading}\n`));
  assert.ok(section, `README has no chapter ${heading}`);
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

const owners = (order: boolean, stock: boolean) => (order && stock ? 'both' : order ? 'order-svc' : 'stock-svc');

describe('README', () => {
  it('lists every reason of the catalogues with its code, its advice and who sends it', () => {
    const all: Record<string, Reason> = { ...orderReasons, ...stockReasons };
    const expected = Object.entries(all).map(([name, { code, retry }]) => {
      const grpcName = code === Code.Canceled ? 'CANCELLED' : Code[code].replace(/(?<!^)[A-Z]/g, '_$&').toUpperCase();
      return [name, grpcName, retry, owners(name in orderReasons, name in stockReasons)];
    });
    const listed = table('Errors').map((row) => row.slice(0, 4));
    assert.deepEqual(listed.toSorted(), expected.toSorted());
  });

  it('and the contracts name the same reasons', () => {
    for (const name of Object.keys({ ...orderReasons, ...stockReasons }))
      assert.match(proto, new RegExp(`\`${name}\``));
  });

  const deadlines = [
    ...OrderService.methods.map((method) => ({ name: method.name, ...orderDeadlines(method) })),
    ...StockService.methods.map((method) => ({ name: method.name, ...stockDeadlines(method) })),
  ].map(({ name, defaultMs, maxMs }) => [name, `${defaultMs / 1000} s`, `${maxMs / 1000} s`]);

  it('lists the deadline of every RPC', () => {
    assert.deepEqual(table('Deadlines, retries, overload'), deadlines);
  });

  it('and the contracts say the same deadlines', () => {
    const commented = [...proto.matchAll(/((?: *\/\/.*\n)+) *rpc (\w+)/g)].map(([, comment, name]) => {
      const text = comment!.replaceAll(/\s*\/\/\s*/g, ' ');
      const [, ...times] = /Deadline: (\d+ s) when the caller sets none, (\d+ s) at most\./.exec(text) ?? [];
      return [name, ...times];
    });
    assert.deepEqual(commented, deadlines);
  });

  it('lists every variable with its default and whose it is', () => {
    const DATABASE_URL = 'mysql://user@host/database';
    const order = loadOrderConfig({ DATABASE_URL });
    const stock = loadStockConfig({ DATABASE_URL });
    const expected = Object.entries({ ...stock, ...order }).map(([name, value]) => {
      if (name === 'DATABASE_URL') return [name, 'required', 'both'];
      const fallback =
        name === 'LISTEN_ADDRESS' ? `${order.LISTEN_ADDRESS}, stock-svc ${stock.LISTEN_ADDRESS}` : String(value ?? '');
      return [name, fallback, owners(name in order, name in stock)];
    });
    const listed = table('Configuration').map((row) => row.slice(0, 3));
    assert.deepEqual(listed.toSorted(), expected.toSorted());
  });

  it('lists every variable of the commands with its default', () => {
    const listed = table('Variables of the commands').map(([name, fallback]) => [name, fallback]);
    const expected = Object.entries(variables).map(([name, schema]) => {
      const { success, data } = z.optional(schema).safeParse(undefined);
      return [name, success && data !== undefined ? String(data ?? '') : 'required'];
    });
    assert.deepEqual(listed.toSorted(), expected.toSorted());
  });

  it('says of every rule of the audit what to do', () => {
    const listed = table('What the audit finds').map(([rule]) => rule);
    assert.deepEqual(listed.toSorted(), Object.keys(rules).toSorted());
  });

  it('says of every line that a service logs as warn, error or fatal what it means', () => {
    const root = fileURLToPath(new URL('..', import.meta.url));
    const files = globSync('{runtime,*-svc}/**/*.ts', { cwd: root });
    const logged = files.flatMap((file) => {
      const text = readFileSync(`${root}/${file}`, 'utf8');
      return [...text.matchAll(/\.(warn|error|fatal)\([^;]*?'([^']{2,})'\s*\)/g)].map(([, level, message]) => [
        level,
        message,
      ]);
    });
    assert.ok(logged.length > 10);
    const listed = table('What the log says');
    const missing = logged.filter(
      ([level, message]) => !listed.some((row) => row[0] === level && row[1]!.includes(message!)),
    );
    assert.deepEqual(missing, [], 'README, chapter "What the log says", has no row for these');
  });
});
