import type { Client } from '@connectrpc/connect';
import type { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import type { Logger } from '../../runtime/lifecycle/logger.ts';
import { Loop } from '../../runtime/lifecycle/loop.ts';
import { deleteSent, type EventHandOver } from '../db/events.ts';
import type { OrderDb } from '../db/models.ts';
import { HandOver } from './hand-over.ts';
import type { Publisher } from './publisher.ts';
import { Relay, type RelayOptions } from './relay.ts';
import { restoreStock } from './restore-stock.ts';

/** How events are handed on. Times in milliseconds. */
export interface OutboxOptions extends Pick<RelayOptions, 'leaseMs' | 'maxAttempts'> {
  /** Pause between two looks for events that are due. */
  intervalMs: number;
  /** For how long events are kept after they were sent. 0: for ever. */
  retentionMs: number;
  /** For one call to stock-svc. */
  stockTimeoutMs: number;
}

/** Pause between two looks for events that need not be kept, and how many are deleted at once. */
const RETENTION = { intervalMs: 1_000, limit: 500 };

/** All that becomes of events once they are written. */
export class Outbox {
  /** Takes news from whoever writes it. */
  readonly handOver: EventHandOver;
  readonly #handOver: HandOver;
  readonly #publisher: Publisher;
  readonly #news: Loop;
  readonly #loops: Loop[];
  readonly #relays: Relay[];
  readonly #logger: Logger;

  constructor(
    db: OrderDb,
    stock: Client<typeof StockService>,
    publisher: Publisher,
    options: OutboxOptions,
    logger: Logger,
  ) {
    const { intervalMs, retentionMs, stockTimeoutMs, leaseMs, maxAttempts } = options;
    const loop = (name: string, ms: number, runOnce: () => Promise<boolean>) =>
      new Loop({ name, intervalMs: ms, runOnce, logger });
    const news = new Relay(db, {
      lane: 'NEWS',
      handle: (event) => publisher.publish(event),
      isReady: () => publisher.isReady(),
      leaseMs,
      maxAttempts,
      logger,
    });
    const jobs = new Relay(db, {
      lane: 'JOB',
      handle: (event) => restoreStock(stock, event, stockTimeoutMs),
      leaseMs,
      maxAttempts,
      logger,
    });
    this.#relays = [news, jobs];
    this.#publisher = publisher;
    this.#logger = logger;
    this.#news = loop('relay', intervalMs, () => news.runOnce());
    this.#handOver = this.handOver = new HandOver(db, news, logger);
    this.#loops = [
      this.#news,
      loop('jobs', intervalMs, () => jobs.runOnce()),
      loop('settle', intervalMs, () => this.#handOver.settle()),
    ];
    if (retentionMs > 0) {
      const sweep = () => deleteSent(db, retentionMs, RETENTION.limit);
      this.#loops.push(loop('retention', RETENTION.intervalMs, sweep));
    }
  }

  /** Connects to the broker, unless it is away. @throws when events cannot ever be published as it is configured. */
  connect(): Promise<void> {
    return this.#publisher.start(() => this.wake());
  }

  /** Begins to work, on tables that are there. */
  start(): void {
    this.#loops.forEach((loop) => loop.start());
  }

  /** News was committed that is in nobody's hands: it is looked for now. */
  wake(): void {
    this.#news.wake();
  }

  /** Ends what is in work, and leaves what waits to others. */
  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
    for (const one of [...this.#relays, this.#handOver]) {
      await one.stop().catch((err: unknown) => this.#logger.warn({ err }, 'events not settled'));
    }
    await this.#publisher.stop();
  }
}
