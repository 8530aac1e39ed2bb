import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { root } from '../../dev/check/run-tool.ts';
import { movementsOf, product, useSystem } from '../support/system.ts';
import { openWebDoor } from './web-door.ts';

const run = promisify(execFile);
const bin = join(root, 'node_modules/.bin');

describe('the package of the client', () => {
  const system = useSystem();
  let project: string;

  // As npm would install it, from the tarball and with what its manifest names, but without a registry.
  before(async function () {
    this.timeout(120_000);
    project = await mkdtemp(join(tmpdir(), 'consumer-'));
    const [built, modules] = [join(project, 'built'), join(project, 'node_modules')];
    await run(process.execPath, ['dev/build-client.ts', built], { cwd: root });
    await run('npm', ['pack', built, '--pack-destination', project], { cwd: project });
    const installed = join(modules, 'ordersystem-cloud');
    await mkdir(installed, { recursive: true });
    await run('tar', ['-xzf', 'ordersystem-cloud-0.1.0.tgz', '-C', installed, '--strip-components=1'], {
      cwd: project,
    });
    const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as { dependencies: object };
    for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
      await mkdir(dirname(join(modules, name)), { recursive: true });
      await symlink(join(root, 'node_modules', name), join(modules, name));
    }
    await writeFile(join(project, 'package.json'), '{"type":"module"}');
  });
  after(() => rm(project, { recursive: true, force: true }));

  it("buys over gRPC and over HTTP under the machine's own Node", async () => {
    const node = await system.orderNode();
    const productId = await product(system, 10n);
    const user = { headers: { 'x-user-id': '1' } };
    const door = await openWebDoor({
      createOrder: (request) => node.client.createOrder(request, user),
      getOrderByClientRequestId: (request) => node.client.getOrderByClientRequestId(request, user),
    });
    const script = `
      import { PurchaseIntent } from 'ordersystem-cloud';
      import { connectOrderService } from 'ordersystem-cloud/grpc';
      import { createOrderClient } from 'ordersystem-cloud/web';
      const { client, close } = connectOrderService('${node.address}');
      const intent = PurchaseIntent.create([{ productId: ${productId}n, quantity: 1n }]);
      const order = await intent.submit(client, { headers: { 'x-user-id': '1' } });
      close();
      const again = await PurchaseIntent.fromJSON(intent.toJSON()).submit(createOrderClient('${door.baseUrl}'));
      console.log(process.version, order.orderNo === again.orderNo);`;
    await writeFile(join(project, 'buy.js'), script);
    const PATH = (process.env['PATH'] ?? '')
      .split(delimiter)
      .filter((folder) => folder !== bin)
      .join(delimiter);
    const { stdout } = await run('node', ['buy.js'], { cwd: project, env: { PATH } });
    await door.close();
    assert.match(stdout, /^v\d+\.\d+\.\d+ true\n$/);
    assert.deepEqual(await movementsOf(system, productId), ['DEDUCT 1']);
  });

  it('has types that a strict compiler takes', async function () {
    this.timeout(60_000);
    await writeFile(
      join(project, 'buy.ts'),
      `import { type Order, type Progress, PurchaseError, PurchaseIntent, type PurchaseItem } from 'ordersystem-cloud';
       import { connectOrderService } from 'ordersystem-cloud/grpc';
       import { createOrderClient } from 'ordersystem-cloud/web';
       const items: PurchaseItem[] = [{ productId: 1n, quantity: 2n }];
       const clients = [connectOrderService('a:1').client, createOrderClient('/api')];
       const onProgress = (progress: Progress): string => progress.state;
       const order: Order = await PurchaseIntent.create(items).submit(clients[0]!, { onProgress });
       const settled: boolean = new PurchaseError(order.totalAmountCents).settled;
       // @ts-expect-error A key cannot be given.
       PurchaseIntent.create(items, 'key');
       // @ts-expect-error Nor can the cart be changed.
       PurchaseIntent.create(items).items.push({ productId: 1n, quantity: settled });`,
    );
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2022,dom'];
    await run(join(bin, 'tsc'), [...options, 'buy.ts'], { cwd: project }).catch(({ stdout }) =>
      assert.fail(String(stdout)),
    );
  });

  it('has a part for browsers that needs nothing of Node, and is small', async () => {
    const contents = `
      import { PurchaseIntent } from 'ordersystem-cloud';
      import { createOrderClient } from 'ordersystem-cloud/web';
      console.log(PurchaseIntent, createOrderClient);`;
    const { metafile, outputFiles } = await build({
      stdin: { contents, resolveDir: project },
      bundle: true,
      minify: true,
      write: false,
      metafile: true,
      platform: 'browser',
      format: 'esm',
      target: 'es2022',
      logLevel: 'silent',
    });
    const inputs = Object.entries(metafile.inputs);
    assert.deepEqual(
      inputs.flatMap(([, { imports }]) => imports.filter(({ external }) => external)),
      [],
    );
    assert.deepEqual(
      inputs.filter(([path]) => /grpc-js|connect-node|pino/.test(path)),
      [],
    );
    const { contents: bundle } = outputFiles[0]!;
    const gzipped = gzipSync(bundle).length;
    console.log(`      ${bundle.length} bytes minified, ${gzipped} gzipped`);
    assert.ok(gzipped < 42_000, 'README says about 39 kB');
  });
});
