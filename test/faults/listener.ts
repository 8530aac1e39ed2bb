import { setTimeout as sleep } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { consumeOrderEvents, type OrderEvents } from '../../client/order-events.ts';
import type { OrderDb } from '../../order-svc/db/models.ts';
import { EVENT_STREAM } from '../../order-svc/outbox/event-stream.ts';
import { select } from '../../runtime/db/statements.ts';
import { withBroker } from '../support/broker.ts';
import { linkTo, type TcpLink } from './tcp-link.ts';

/** Milliseconds until it has to have heard all that was sent. */
const HEAR_MS = 30_000;

const silent = { info() {}, warn() {}, error() {} };

interface Addresses {
  databaseUrl: string;
  brokerUrl: string;
}

/** Somebody who wants to hear of everything that becomes of an order, once: the client's consumer, on a database of its own. */
export class Listener {
  /** To the broker. */
  readonly link: TcpLink;
  /** To its database. */
  readonly databaseLink: TcpLink;
  readonly #behind: Addresses;
  readonly #brokerUrl: string;
  /** Past the links. */
  readonly #db: Pool;
  #working: { consumer: OrderEvents; pool: Pool } | undefined;

  private constructor(direct: Addresses, behind: Addresses, links: { link: TcpLink; databaseLink: TcpLink }) {
    this.link = links.link;
    this.databaseLink = links.databaseLink;
    this.#behind = behind;
    this.#brokerUrl = direct.brokerUrl;
    this.#db = createPool({ uri: direct.databaseUrl, connectionLimit: 2 });
  }

  static async open(databaseUrl: string, brokerUrl: string, random: () => number): Promise<Listener> {
    const [database, broker] = [await linkTo(databaseUrl, random), await linkTo(brokerUrl, random)];
    const behind = { databaseUrl: database.url, brokerUrl: broker.url };
    const links = { link: broker.link, databaseLink: database.link };
    const listener = new Listener({ databaseUrl, brokerUrl }, behind, links);
    // No key: what is handled twice stands there twice.
    await listener.#db.query(`CREATE TABLE t_heard (
      heard BIGINT AUTO_INCREMENT PRIMARY KEY, order_no VARCHAR(32), event_id VARCHAR(96), KEY (order_no))`);
    listener.start();
    return listener;
  }

  start(): void {
    const pool = createPool({ uri: this.#behind.databaseUrl, connectionLimit: 2 });
    const consumer = consumeOrderEvents({
      servers: this.#behind.brokerUrl,
      durable: 'listener',
      db: pool,
      handle: async ({ orderNo, eventId }, tx) => {
        await tx.query('INSERT INTO t_heard (order_no, event_id) VALUES (?, ?)', [orderNo, eventId]);
      },
      logger: silent,
    });
    this.#working = { consumer, pool };
  }

  async stop(): Promise<void> {
    await this.#working?.consumer.stop();
    await this.#working?.pool.end();
    this.#working = undefined;
  }

  /** Stops, forgets how far it has come, and begins at the first event again. Returns how many it had heard. */
  async hearAllAgain(): Promise<number> {
    await this.stop();
    await this.#db.query('UPDATE t_event_place SET seq = 0');
    const heard = await this.#numberIn('SELECT COUNT(*) AS number FROM t_heard');
    this.start();
    return heard;
  }

  /** What it has not heard once, or not in the order in which it happened, or put aside. Waits until it has heard all that was said. */
  async misheard({ sequelize }: OrderDb): Promise<string[]> {
    if (!(await this.#hasHeardAll())) return ['the consumer has not come to the end of the stream'];
    const happened = await select<{ order_no: string; events: string }>(
      sequelize,
      `SELECT order_no, GROUP_CONCAT(event_id ORDER BY create_time, event_id) AS events FROM t_event_record
        WHERE lane = 'NEWS' GROUP BY order_no`,
      [],
    );
    const [rows] = await this.#db.query<(RowDataPacket & { order_no: string; events: string })[]>(
      'SELECT order_no, GROUP_CONCAT(event_id ORDER BY heard) AS events FROM t_heard GROUP BY order_no',
    );
    const heard = new Map(rows.map((row) => [row.order_no, row.events]));
    const wrong = happened.flatMap(({ order_no: orderNo, events }) => {
      const found = heard.get(orderNo) ?? 'nothing';
      return found === events ? [] : [`of order ${orderNo} was heard ${found}; there is ${events}`];
    });
    const aside = await this.#numberIn('SELECT COUNT(*) AS number FROM t_dead_event');
    return aside > 0 ? [...wrong, `${aside} events were put aside`] : wrong;
  }

  async #hasHeardAll(): Promise<boolean> {
    let last = Infinity;
    await withBroker(this.#brokerUrl, async (connection) => {
      last = (await (await jetstreamManager(connection)).streams.info(EVENT_STREAM)).state.last_seq;
    });
    for (const end = performance.now() + HEAR_MS; performance.now() < end; await sleep(50)) {
      if ((await this.#numberIn('SELECT seq AS number FROM t_event_place')) >= last) return true;
    }
    return false;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#db.end();
    await this.link.close();
    await this.databaseLink.close();
  }

  async #numberIn(sql: string): Promise<number> {
    const [rows] = await this.#db.query<RowDataPacket[]>(sql);
    return Number(rows[0]?.['number'] ?? -1);
  }
}
