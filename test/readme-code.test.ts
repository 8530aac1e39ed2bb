import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createPool, type RowDataPacket } from 'mysql2/promise';
import { root } from '../dev/check/run-tool.ts';
import { createDatabase, dropDatabase } from '../dev/database/create-database.ts';
import { openWebDoor } from './client/web-door.ts';
import { useBroker } from './support/broker.ts';
import { EventFeed } from './support/event-feed.ts';
import { until } from './support/expect.ts';
import { serverUrl } from './support/setup.ts';
import { as, movementsOf, useSystem } from './support/system.ts';

const run = promisify(execFile);

describe('the TypeScript in README', () => {
  const system = useSystem();
  let folder: string;
  // Inside the project, where its own package name leads to client/.
  before(async () => {
    await mkdir(join(root, '.data'), { recursive: true });
    folder = await mkdtemp(join(root, '.data/readme-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('buys what it says, once for each intent', async () => {
    await system.stock.putProducts({ products: [{ productId: 1n, title: 'Beans', unitPriceCents: 2490n }] });
    await system.stock.receiveStock({ receiptNo: 'r', items: [{ productId: 1n, quantity: 10n }] });
    const { address, client } = await system.orderNode();
    const gateway = await openWebDoor({
      createOrder: (request) => client.createOrder(request, as(42)),
      getOrderByClientRequestId: (request) => client.getOrderByClientRequestId(request, as(42)),
    });
    const blocks = (await blocksOfReadme('From TypeScript or JavaScript')).map((code) =>
      code.replace('127.0.0.1:50051', address).replace("'/api'", `'${gateway.baseUrl}'`),
    );

    const outputs: string[] = [];
    for (const [i, code] of blocks.entries()) {
      const file = join(folder, `${i}.ts`);
      await writeFile(file, code);
      const storage = ['--experimental-webstorage', `--localstorage-file=${join(folder, 'storage')}`];
      const { stdout } = await run(process.execPath, [...storage, file]);
      outputs.push(stdout.replace(/\d{10,}/, 'NUMBER'));
    }
    await gateway.close();
    assert.deepEqual(outputs, ['bought: NUMBER\n', 'submitting\ndone\nbought: NUMBER\n']);
    assert.deepEqual(await movementsOf(system, 1n), ['DEDUCT 2', 'DEDUCT 2']);
  });

  describe('for those who want to hear of orders', () => {
    const nats = useBroker();

    it('gives points for a payment', async () => {
      const name = `test_readme_${randomUUID().slice(0, 8)}`;
      const url = await createDatabase(serverUrl(), name);
      const db = createPool(url);
      await db.query('CREATE TABLE account (user_id BIGINT PRIMARY KEY, points BIGINT)');
      await db.query('INSERT INTO account VALUES (7, 1)');
      const feed = await EventFeed.to(nats.broker.url);
      await feed.tell({ orderNo: '1', type: 'ORDER_PAID', userId: 7, totalCents: 1250 });
      const [code] = await blocksOfReadme('Consume them');
      const file = join(folder, 'consumer.ts');
      await writeFile(file, code!.replace(/nats:[^']*/, nats.broker.url).replace(/mysql:[^']*/, url));
      const consumer = spawn(process.execPath, [file], { stdio: ['ignore', 'ignore', 'inherit'] });
      const points = async () =>
        (await db.query<RowDataPacket[]>('SELECT points FROM account'))[0][0]!['points'] as unknown;
      try {
        await until('the points are given', async () => (await points()) === 13, 15_000);
      } finally {
        consumer.kill('SIGKILL');
        await once(consumer, 'exit');
        await feed.close();
        await db.end();
        await dropDatabase(serverUrl(), name);
      }
    });
  });
});

async function blocksOfReadme(chapter: string): Promise<string[]> {
  const readme = await readFile(join(root, 'README.md'), 'utf8');
  const text = readme.split(/^#+ /m).find((part) => part.startsWith(chapter))!;
  return [...text.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) => code!);
}
