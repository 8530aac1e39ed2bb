import type { Client } from '@connectrpc/connect';
import type { Sequelize } from 'sequelize';
import type { StockService } from '../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { openDatabase } from '../runtime/db/database.ts';
import { select } from '../runtime/db/statements.ts';
import type { Databases } from './audit/databases.ts';
import { read } from './config.ts';
import { Failure, status } from './failure.ts';
import { openStockService } from './stock-access.ts';

/** What a table of each database must have for these commands. */
const known = {
  ORDER_DATABASE_URL: { owner: 'order-svc', sql: 'SELECT last_error FROM t_event_record LIMIT 0' },
  STOCK_DATABASE_URL: { owner: 'stock-svc', sql: 'SELECT product_id FROM t_stock LIMIT 0' },
} as const;

/** The ways to what a command looks at, each opened when it is asked for, and all closed at the end. */
export class Access {
  readonly env: NodeJS.ProcessEnv;
  readonly #cleanup = new AsyncDisposableStack();

  constructor(env: NodeJS.ProcessEnv) {
    this.env = env;
  }

  /** Both databases, to read only: the server itself refuses everything else. */
  async databases(): Promise<Databases> {
    const { ORDER_DATABASE_URL, STOCK_DATABASE_URL } = read(this.env, ['ORDER_DATABASE_URL', 'STOCK_DATABASE_URL']);
    return {
      order: await this.#open('ORDER_DATABASE_URL', ORDER_DATABASE_URL, true),
      stock: await this.#open('STOCK_DATABASE_URL', STOCK_DATABASE_URL, true),
    };
  }

  /** order-svc's database, to read only unless somebody has said yes to a change. */
  orderDatabase({ readOnly = true } = {}): Promise<Sequelize> {
    const { ORDER_DATABASE_URL } = read(this.env, ['ORDER_DATABASE_URL']);
    return this.#open('ORDER_DATABASE_URL', ORDER_DATABASE_URL, readOnly);
  }

  stockService(): Client<typeof StockService> {
    const { client, close } = openStockService(this.env);
    this.#cleanup.defer(close);
    return client;
  }

  close(): Promise<void> {
    return this.#cleanup.disposeAsync();
  }

  async #open(variable: keyof typeof known, url: string, readOnly: boolean): Promise<Sequelize> {
    const db = openDatabase({ url, poolSize: 4, acquireMs: 10_000, connectTimeoutMs: 5_000, readOnly });
    this.#cleanup.defer(() => db.close());
    const { owner, sql } = known[variable];
    try {
      await select(db, sql, []);
      return db;
    } catch (error) {
      const { code, sqlMessage } = driverErrorIn(error);
      const { host, pathname } = new URL(url);
      const what =
        code === 'ER_NO_SUCH_TABLE' || code === 'ER_BAD_FIELD_ERROR'
          ? `${pathname.slice(1)} is not the database of this version of ${owner}, which makes and upgrades its tables at start`
          : (sqlMessage ?? `${host} cannot be reached (${code ?? 'no answer in time'})`);
      throw new Failure(status.cannot, `${variable}: ${what}`, { cause: error });
    }
  }
}

/** Sequelize wraps the driver's errors. Neither has the password in it. */
function driverErrorIn(error: unknown): { code?: string; sqlMessage?: string } {
  return (error as { parent?: object }).parent ?? (error as object);
}
