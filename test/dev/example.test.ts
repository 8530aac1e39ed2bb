import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { privateServerEnv } from './private-server-env.ts';
import { StartedCommand } from './started-command.ts';

describe('npm run example', function () {
  this.timeout(120_000);

  it('opens a shop before the services, and leaves nothing behind', async function () {
    const privateEnv = await privateServerEnv().catch(() => this.skip());
    const scratch = await mkdtemp(join(tmpdir(), 'example-test-'));
    const free = '127.0.0.1:0';
    const listen = {
      ORDER_LISTEN_ADDRESS: free,
      STOCK_LISTEN_ADDRESS: free,
      ORDER_HTTP_LISTEN_ADDRESS: free,
      STOCK_HTTP_LISTEN_ADDRESS: free,
      EXAMPLE_LISTEN_ADDRESS: free,
    };
    const example = new StartedCommand('examples/checkout/main.ts', [], {
      ...privateEnv,
      ...listen,
      DATA_DIR: scratch,
    });
    const line = await example.line(/^The shop is open on http:/);
    const products = await fetch(`${/http:\S+\d/.exec(line)![0]}/products`);
    const titles = ((await products.json()) as { title: string }[]).map(({ title }) => title.split(',')[0]);
    example.signal('SIGTERM');
    assert.equal(await example.ended, 0);
    await example.leavesNothing();
    assert.deepEqual(titles, ['Espresso beans', 'Burr grinder', 'Porcelain cups']);
    await rm(scratch, { recursive: true });
  });
});
