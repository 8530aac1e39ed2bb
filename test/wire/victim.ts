import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';
import { type ServiceProcess, startProcess } from '../support/processes.ts';
import { as, databaseUrlOf, newKey, type System, useSystem } from '../support/system.ts';

export const doors = ['gRPC', 'HTTP'] as const;
export type DoorName = (typeof doors)[number];

/** A process of order-svc that is treated badly. */
export interface Victim {
  readonly system: System;
  readonly addresses: Record<DoorName, string>;
  /** Does it, while good callers go on at both doors; fails when one of them is kept waiting, or anything else is not as it was before. */
  endure(attack: () => Promise<unknown>): Promise<void>;
  /** What the process has of memory, in MiB. */
  rssMib(): Promise<number>;
}

// Far more than it takes, for busy machines, and far less than an attack that is waited for.
const LATEST_MS = 5_000;
/** Heap that was made room for once is kept; it is not more with every attack. */
const MOST_GROWTH_MIB = 80;

/** A process with both its doors open, for the suite that calls this, whose tests must leave it as they found it. */
export function useVictim(env: Record<string, string> = {}): Victim {
  const system = useSystem();
  const victim = {} as Victim;
  let service: ServiceProcess;
  let close = () => {};
  before(async () => {
    service = startProcess('order-svc', {
      DATABASE_URL: databaseUrlOf(system.orderDb),
      STOCK_TARGET: system.stockAddress,
      HTTP_LISTEN_ADDRESS: '127.0.0.1:0',
      // Garbage is collected before it is much.
      NODE_OPTIONS: '--max-semi-space-size=4',
      ...env,
    });
    await service.address;
    const started = service.lines.find(({ message }) => message === 'started')!;
    const addresses = { gRPC: String(started['address']), HTTP: String(started['http_address']) };
    const grpc = createGrpcTransport({ target: addresses.gRPC });
    const http = createConnectTransport({ baseUrl: `http://${addresses.HTTP}`, httpVersion: '1.1' });
    const callers = [grpc, http].map((transport) => createClient(OrderService, transport));
    close = () => grpc.close();
    const good = async () => {
      const startMs = performance.now();
      for (const one of callers) {
        await one.getOrderByClientRequestId({ clientRequestId: newKey() }, as(1, { timeoutMs: 2 * LATEST_MS }));
      }
      return performance.now() - startMs;
    };
    const rssMib = () => rssOf(service.child.pid!);
    const endure = async (attack: () => Promise<unknown>) => {
      await good();
      const [rowsBefore, mibBefore] = [await rowsOf(system), await rssMib()];
      let over = false;
      const attacked = attack().finally(() => (over = true));
      let worstMs = 0;
      do worstMs = Math.max(worstMs, await good());
      while (!over);
      await attacked;
      worstMs = Math.max(worstMs, await good());
      const grownBy = async () => (await rssMib()) - mibBefore;
      let growth = await grownBy();
      // It takes a while to let go of what was closed.
      for (let i = 0; growth > MOST_GROWTH_MIB && i < 50; i++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        growth = await grownBy();
      }
      if (process.env['WIRE_FIGURES']) console.log({ worstMs, mibBefore, growth });
      assert.ok(worstMs < LATEST_MS, `a good call took ${worstMs} ms`);
      assert.ok(growth < MOST_GROWTH_MIB, `the process has grown by ${growth} MiB, from ${mibBefore}`);
      assert.deepEqual(await rowsOf(system), rowsBefore);
      assert.equal(service.stderr(), '');
    };
    Object.assign(victim, { system, addresses, endure, rssMib });
  });
  after(async () => {
    close();
    service.child.kill('SIGTERM');
    assert.equal(await service.ended, 0, service.stderr());
  });
  return victim;
}

async function rssOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

/** How many rows there are of whatever a caller can bring about. */
async function rowsOf({ orderDb, stockDb }: System): Promise<number[]> {
  const { Order, OrderClaim, OrderItem, EventRecord, Payment } = orderDb;
  const { StockRecord } = stockDb;
  const models: { count(): Promise<number> }[] = [Order, OrderClaim, OrderItem, EventRecord, Payment, StockRecord];
  return Promise.all(models.map((model) => model.count()));
}
