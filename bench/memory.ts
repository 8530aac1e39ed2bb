import type { Stack } from './stack.ts';
import { usageOf } from './usage.ts';

/** Orders after which a process has all the code and the buffers that it needs. */
const WARM_ORDERS = 20_000;

/** Resident memory of both services after so many orders, in bytes. */
export interface MemorySample {
  readonly orders: number;
  readonly orderSvcBytes: number;
  readonly stockSvcBytes: number;
}

/** Watches whether the services keep something of each order. */
export class Memory {
  readonly samples: MemorySample[] = [];
  orders = 0;
  readonly #stack: Stack;

  private constructor(stack: Stack) {
    this.#stack = stack;
  }

  static async start(stack: Stack): Promise<Memory> {
    const memory = new Memory(stack);
    await memory.finish();
    return memory;
  }

  /** So many more orders, or answers, have been given. */
  async count(orders: number): Promise<void> {
    const before = this.orders;
    this.orders += orders;
    if (before < WARM_ORDERS && this.orders >= WARM_ORDERS) await this.finish();
  }

  /** Looks at the memory now. */
  async finish(): Promise<void> {
    const bytesOf = async (name: string) =>
      (await usageOf(this.#stack.watched.find((one) => one.name === name)!)).rssBytes;
    this.samples.push({
      orders: this.orders,
      orderSvcBytes: await bytesOf('order-svc'),
      stockSvcBytes: await bytesOf('stock-svc'),
    });
  }

  lines(): string[] {
    const mib = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`;
    return this.samples.map(
      (one) =>
        `memory after ${one.orders} orders: order-svc ${mib(one.orderSvcBytes)}, stock-svc ${mib(one.stockSvcBytes)}`,
    );
  }
}
