import { randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { createDatabase } from '../../dev/database/create-database.ts';
import { startDatabase } from '../../dev/database/start-database.ts';
import { ServiceProcess } from '../../dev/service-process.ts';
import { type OrderDb, openOrderDb } from '../../order-svc/db/models.ts';
import { openStockDb, type StockDb } from '../../stock-svc/db/models.ts';
import { TcpLink } from './tcp-link.ts';

export type ServiceName = 'order-svc' | 'stock-svc';

/** What is wrong with a process from its start. */
export interface Trouble {
  /** Where it is to end or to stop, as `crash-at.ts` reads it. */
  readonly crashAt?: string;
  /** Milliseconds that its clock is off, and that it is set by at each SIGUSR2. */
  readonly clock?: { readonly shiftMs: number; readonly stepMs: number };
}

function preload(file: string) {
  return { NODE_OPTIONS: `--import=${pathToFileURL(resolve(import.meta.dirname, file)).href}` };
}

/** One process of a service and the links that lead to it and from it. It is started again on the same place. */
export class Place {
  readonly name: ServiceName;
  /** From its callers. */
  readonly link: TcpLink;
  /** To its database. */
  readonly databaseLink: TcpLink;
  readonly #env: Record<string, string>;
  #process: ServiceProcess | undefined;
  #crashed = Promise.withResolvers<void>();

  constructor(name: ServiceName, link: TcpLink, databaseLink: TcpLink, env: Record<string, string>) {
    this.name = name;
    this.link = link;
    this.databaseLink = databaseLink;
    this.#env = env;
  }

  async start({ crashAt, clock }: Trouble = {}): Promise<void> {
    const crashed = Promise.withResolvers<void>();
    const onLine = (line: string) => void (line.startsWith('crash-at ') && crashed.resolve());
    const trouble = {
      ...(crashAt !== undefined && { CRASH_AT: crashAt, ...preload('crash-at.ts') }),
      ...(clock && {
        CLOCK_SHIFT_MS: String(clock.shiftMs),
        CLOCK_STEP_MS: String(clock.stepMs),
        ...preload('clock-shift.ts'),
      }),
    };
    this.#crashed = crashed;
    this.#process = new ServiceProcess({
      name: this.name,
      env: { ...this.#env, ...trouble },
      ...(crashAt !== undefined && { onLine }),
    });
    this.link.leadTo(await this.#process.ready);
  }

  get process(): ServiceProcess {
    return this.#process!;
  }

  /** Resolves when the process has come to where it was to end or to stop. */
  get crashed(): Promise<void> {
    return this.#crashed.promise;
  }

  /** SIGTERM, and a new process. */
  async restart(trouble?: Trouble): Promise<void> {
    await this.process.stop();
    await this.start(trouble);
  }

  async close(): Promise<void> {
    await this.#process?.kill();
    await this.link.close();
    await this.databaseLink.close();
  }
}

/** Two processes of each service on a real database, with a link of the test's own between any two parties. */
export interface World {
  readonly orders: readonly Place[];
  readonly stocks: readonly Place[];
  /** Past all links. */
  readonly orderDb: OrderDb;
  readonly stockDb: StockDb;
  close(): Promise<void>;
}

/** Milliseconds, short enough that what is to pass passes in a test. */
export const times = { claimMargin: 500, lease: 1500 };

const env = {
  LISTEN_ADDRESS: '127.0.0.1:0',
  DRAIN_MS: '2000',
};
const orderEnv = {
  ...env,
  STOCK_ATTEMPT_MS: '400',
  COMPENSATION_MS: '500',
  CLAIM_MARGIN_MS: String(times.claimMargin),
  EVENT_LEASE_MS: String(times.lease),
  WORKER_LEASE_MS: '3000',
  REAPER_INTERVAL_MS: '200',
  RELAY_INTERVAL_MS: '100',
  ORDER_PAY_WINDOW_MS: '1000',
  EXPIRY_INTERVAL_MS: '200',
};

/** @param serverUrl a database server that is there; by default one is started. */
export async function startWorld(
  random: () => number,
  log: (line: string) => void,
  serverUrl?: string,
): Promise<World> {
  const server = serverUrl === undefined ? await startDatabase({ durability: 'relaxed', log }) : undefined;
  const suffix = randomUUID().slice(0, 8);
  const [orderUrl, stockUrl] = (await Promise.all(
    ['order', 'stock'].map((name) => createDatabase(server?.url ?? serverUrl!, `faults_${name}_${suffix}`)),
  )) as [string, string];
  const linkTo = async (url: string) => {
    const link = await TcpLink.open(random);
    link.leadTo(new URL(url).host);
    const behind = new URL(url);
    behind.host = link.address;
    return { link, url: behind.href };
  };
  const place = async (name: ServiceName, url: string, more: Record<string, string>) => {
    const database = await linkTo(url);
    return new Place(name, await TcpLink.open(random), database.link, { ...more, DATABASE_URL: database.url });
  };
  const stocks = [await place('stock-svc', stockUrl, env), await place('stock-svc', stockUrl, env)];
  const target = `ipv4:${stocks.map((stock) => stock.link.address).join(',')}`;
  const withStock = { ...orderEnv, STOCK_TARGET: target };
  const orders = [await place('order-svc', orderUrl, withStock), await place('order-svc', orderUrl, withStock)];
  const places = [...stocks, ...orders];
  await Promise.all(places.map((one) => one.start()));
  const orderDb = openOrderDb({ url: orderUrl });
  const stockDb = openStockDb({ url: stockUrl });
  return {
    orders,
    stocks,
    orderDb,
    stockDb,
    async close() {
      await Promise.all(places.map((one) => one.close()));
      await orderDb.sequelize.close();
      await stockDb.sequelize.close();
      await server?.stop();
    },
  };
}
