import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '../dev/check/run-tool.ts';
import { openWebDoor } from './client/web-door.ts';
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
    const readme = await readFile(join(root, 'README.md'), 'utf8');
    const blocks = [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code]) =>
      code!.replace('127.0.0.1:50051', address).replace("'/api'", `'${gateway.baseUrl}'`),
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
});
