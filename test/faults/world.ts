import { randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import { resolve } from 'node:path';
import { Broker } from '../../dev/broker/start-broker.ts';
import { createDatabase } from '../../dev/database/create-database.ts';
import { type DatabaseServer, startDatabase } from '../../dev/database/start-database.ts';
import { ServiceProcess } from '../../dev/service-process.ts';
import { type OrderDb, openOrderDb } from '../../order-svc/db/models.ts';
import { openStockDb, type StockDb } from '../../stock-svc/db/models.ts';
import { Listener } from './listener.ts';
import { linkTo, TcpLink } from './tcp-link.ts';

export type ServiceName = 'order-svc' | 'stock-svc';

/** Gets a database server. */
export type StartServer = (log: (line: string) => void) => Promise<DatabaseServer>;

/** What is wrong with a process from its start. */
export interface Trouble {
  /** Where it is to end or to stop, as `crash-at.ts` reads it. */
  readonly crashAt?: string;
  /** Only after SIGUSR2. */
  readonly crashesOnSignal?: boolean;
  /** Milliseconds that its clock is off, and that it is set by at each SIGUSR2. */
  readonly clock?: { readonly shiftMs: number; readonly stepMs: number };
  /** Where it writes every few seconds how many bytes it keeps. */
  readonly heapFile?: string;
  /** More of its environment. */
  readonly env?: Record<string, string>;
}

function preload(file: string) {
  return { NODE_OPTIONS: `--import=${pathToFileURL(resolve(import.meta.dirname, file)).href}` };
}

interface Links {
  link: TcpLink;
  databaseLink: TcpLink;
  brokerLink?: TcpLink | undefined;
}

/** One process of a service and the links that lead to it and from it. It is started again on the same place. */
export class Place {
  readonly name: ServiceName;
  /** From its callers. */
  readonly link: TcpLink;
  /** To its database. */
  readonly databaseLink: TcpLink;
  /** To the broker, where there is one. */
  readonly brokerLink: TcpLink | undefined;
  readonly #env: Record<string, string>;
  #process: ServiceProcess | undefined;
  #crashed = Promise.withResolvers<void>();

  constructor(name: ServiceName, links: Links, env: Record<string, string>) {
    this.name = name;
    this.link = links.link;
    this.databaseLink = links.databaseLink;
    this.brokerLink = links.brokerLink;
    this.#env = env;
  }

  async start({ crashAt, crashesOnSignal, clock, heapFile, env: more }: Trouble = {}): Promise<void> {
    const crashed = Promise.withResolvers<void>();
    const onLine = (line: string) => void (line.startsWith('crash-at ') && crashed.resolve());
    const trouble = {
      ...more,
      ...(crashesOnSignal && { CRASH_ARMED_BY_SIGNAL: '1' }),
      ...(crashAt !== undefined && { CRASH_AT: crashAt, ...preload('crash-at.ts') }),
      ...(clock && {
        CLOCK_SHIFT_MS: String(clock.shiftMs),
        CLOCK_STEP_MS: String(clock.stepMs),
        ...preload('clock-shift.ts'),
      }),
    };
    if (heapFile !== undefined) Object.assign(trouble, { HEAP_FILE: heapFile, ...preload('heap-watch.ts') });
    this.#crashed = crashed;
    this.#process = new ServiceProcess({
      name: this.name,
      env: { ...this.#env, ...trouble },
      ...(crashAt !== undefined && { onLine }),
    });
    // It may come to its end before it serves.
    const address = await Promise.race([this.#process.ready, crashed.promise]);
    if (address !== undefined) this.link.leadTo(address);
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
    await this.brokerLink?.close();
  }
}

/** A broker, and somebody who hears there of every order. */
export interface News {
  readonly broker: Broker;
  readonly listener: Listener;
}

/** Two processes of each service on a real database, with a link of the test's own between any two parties. */
export interface World {
  /** Undefined: one that was there before. */
  readonly server: DatabaseServer | undefined;
  readonly orders: readonly Place[];
  readonly stocks: readonly Place[];
  /** Undefined: events go to the log. */
  readonly news: News | undefined;
  /** For how long at least events are kept once they were sent, in milliseconds. Undefined: for ever. A case may set it. */
  retentionMs?: number;
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

/** What a world is made of. */
export interface WorldOptions {
  /** A database server that is there. By default, and when there is `startServer`, one is started. */
  serverUrl?: string | undefined;
  startServer?: StartServer | undefined;
  /** With a broker, to which events go. */
  withBroker?: boolean | undefined;
}

/** @throws NotHereError when this machine has none of what is asked for. */
export async function startWorld(
  random: () => number,
  log: (line: string) => void,
  { serverUrl, startServer, withBroker }: WorldOptions = {},
): Promise<World> {
  const broker = withBroker ? await Broker.start({ log }) : undefined;
  const start = startServer ?? (() => startDatabase({ durability: 'relaxed', log }));
  const server = serverUrl === undefined || startServer ? await start(log) : undefined;
  const suffix = randomUUID().slice(0, 8);
  const database = (name: string) => createDatabase(server?.url ?? serverUrl!, `faults_${name}_${suffix}`);
  const [orderUrl, stockUrl] = [await database('order'), await database('stock')];
  const place = async (name: ServiceName, url: string, more: Record<string, string>) => {
    const toDatabase = await linkTo(url, random);
    const toBroker = broker && name === 'order-svc' ? await linkTo(broker.url, random) : undefined;
    const links = { link: await TcpLink.open(random), databaseLink: toDatabase.link, brokerLink: toBroker?.link };
    const events = toBroker && { EVENTS_URL: toBroker.url };
    return new Place(name, links, { ...more, DATABASE_URL: toDatabase.url, ...events });
  };
  const stocks = [await place('stock-svc', stockUrl, env), await place('stock-svc', stockUrl, env)];
  const target = `ipv4:${stocks.map((stock) => stock.link.address).join(',')}`;
  const withStock = { ...orderEnv, STOCK_TARGET: target };
  const orders = [await place('order-svc', orderUrl, withStock), await place('order-svc', orderUrl, withStock)];
  const places = [...stocks, ...orders];
  await Promise.all(places.map((one) => one.start()));
  const orderDb = openOrderDb({ url: orderUrl });
  const stockDb = openStockDb({ url: stockUrl });
  const news = broker && { broker, listener: await Listener.open(await database('heard'), broker.url, random) };
  return {
    server,
    orders,
    stocks,
    news,
    orderDb,
    stockDb,
    async close() {
      await Promise.all(places.map((one) => one.close()));
      await news?.listener.close();
      await orderDb.sequelize.close();
      await stockDb.sequelize.close();
      await server?.stop();
      await broker?.stop();
    },
  };
}
