import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@connectrpc/connect';
import { connectStockService } from '../../client/clients.ts';
import type { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { select } from '../../runtime/db/statements.ts';
import { reasonOf } from '../../runtime/rpc/errors.ts';
import { happened } from './bad-weather.ts';
import type { Case, Stage } from './kind.ts';
import type { World } from './world.ts';

/** The same requests more than once. */
export const sentTwice: readonly Case[] = [
  {
    name: 'every request of a caller is sent twice at the same time, to both order-svc',
    quick: true,
    run: twiceToOrders,
  },
  { name: 'every deduction and every restore is sent again, to both stock-svc', run: againToStock },
];

async function twiceToOrders({ people }: Stage): Promise<number> {
  const before = people.requests;
  people.sendTwice = true;
  const load = people.shop(8);
  try {
    await sleep(3000);
  } finally {
    await load.stop();
    people.sendTwice = false;
  }
  return (people.requests - before) / 2;
}

interface Taken {
  readonly order_no: string;
  readonly state: 'DEDUCTED' | 'RESTORED';
  readonly product_id: string;
  readonly quantity: string;
}

/** While orders are made and cancelled. */
async function againToStock({ world, people }: Stage): Promise<number> {
  const connections = world.stocks.map(({ link }) => connectStockService(link.address));
  let sent = 0;
  const load = people.shop(8);
  try {
    for (let i = 0; i < 20; i++) {
      await sleep(150);
      const taken = await lastTaken(world);
      const calls = connections.flatMap(({ client }) => taken.map((order) => again(client, order)));
      sent += (await Promise.all(calls)).length;
    }
  } finally {
    await load.stop();
    for (const { close } of connections) close();
  }
  return happened(sent);
}

async function lastTaken({ stockDb }: World): Promise<Taken[]> {
  return select<Taken>(
    stockDb.sequelize,
    `SELECT d.order_no, d.state, r.product_id, r.quantity FROM t_stock_deduction d
      JOIN t_stock_record r ON r.order_no = d.order_no AND r.type = 'DEDUCT' ORDER BY d.order_no DESC LIMIT 25`,
    [],
  );
}

/** Sends what was done once more. */
async function again(
  client: Client<typeof StockService>,
  { order_no: orderNo, state, ...taken }: Taken,
): Promise<void> {
  const items = [{ productId: BigInt(taken.product_id), quantity: BigInt(taken.quantity) }];
  const answers = [
    await client.deduct({ orderNo, items }, { timeoutMs: 5000 }).catch(unlessClosed),
    ...(state === 'RESTORED' ? [await client.restore({ orderNo }, { timeoutMs: 5000 })] : []),
  ];
  if (answers.some((answer) => answer && !answer.replayed)) throw new Error(`${orderNo} was done a second time`);
}

/** Given back before, or meanwhile. */
function unlessClosed(error: unknown): undefined {
  if (reasonOf(error) !== 'ORDER_CLOSED') throw error;
}
