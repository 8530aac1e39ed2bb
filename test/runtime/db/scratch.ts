import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Sequelize } from 'sequelize';
import { createDatabase, dropDatabase } from '../../../dev/database/create-database.ts';
import { type DatabaseOptions, openDatabase } from '../../../runtime/db/database.ts';
import { serverUrl } from '../../support/setup.ts';
import { SqlProxy } from '../../support/sql-proxy.ts';

/** A database of its own for a suite. `drop` closes every pool and proxy that was opened on it. */
export class Scratch {
  readonly url: string;
  readonly #name: string;
  readonly #pools: Sequelize[] = [];
  readonly #proxies: SqlProxy[] = [];

  private constructor(name: string, url: string) {
    this.#name = name;
    this.url = url;
  }

  static async create(): Promise<Scratch> {
    const name = `test_runtime_${randomUUID().slice(0, 8)}`;
    return new Scratch(name, await createDatabase(serverUrl(), name));
  }

  open(options: Partial<DatabaseOptions> = {}): Sequelize {
    const db = openDatabase({ url: this.url, ...options });
    this.#pools.push(db);
    return db;
  }

  /** A pool whose connections go through a proxy. */
  async openBehindProxy(options: Partial<DatabaseOptions> = {}): Promise<{ proxy: SqlProxy; db: Sequelize }> {
    const proxy = await SqlProxy.to(this.url);
    this.#proxies.push(proxy);
    return { proxy, db: this.open({ ...options, url: proxy.url }) };
  }

  async drop(): Promise<void> {
    for (const proxy of this.#proxies) await proxy.close();
    for (const db of this.#pools) await db.close();
    await dropDatabase(serverUrl(), this.#name);
  }
}

/** What a promise is rejected with. */
export async function errorOf(work: Promise<unknown>): Promise<Error> {
  const outcome = await work.then(
    () => assert.fail('it succeeded'),
    (error: unknown) => error,
  );
  assert.ok(outcome instanceof Error);
  return outcome;
}

/** Resolves when so many have come. */
export function barrier(parties: number): () => Promise<void> {
  const open = Promise.withResolvers<void>();
  return () => {
    if (--parties === 0) open.resolve();
    return open.promise;
  };
}
