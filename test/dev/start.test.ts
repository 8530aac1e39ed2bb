import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { privateServerEnv } from './private-server-env.ts';
import { root, StartedCommand } from './started-command.ts';

describe('npm start', function () {
  this.timeout(120_000);

  let scratch = '';
  let env: NodeJS.ProcessEnv;

  before(async function () {
    const privateEnv = await privateServerEnv().catch(() => this.skip());
    scratch = await mkdtemp(join(tmpdir(), 'start-test-'));
    const free = '127.0.0.1:0';
    env = {
      ...privateEnv,
      DATA_DIR: scratch,
      ORDER_LISTEN_ADDRESS: free,
      STOCK_LISTEN_ADDRESS: free,
      ORDER_HTTP_LISTEN_ADDRESS: free,
      STOCK_HTTP_LISTEN_ADDRESS: free,
    };
  });

  after(async () => {
    if (scratch) await rm(scratch, { recursive: true });
  });

  it('prints commands that work, and keeps what they did', async () => {
    const first = new StartedCommand('dev/start.ts', [], env);
    const create = await first.line(/^npx buf curl .*\/CreateOrder$/);
    const made = await paste(create);
    assert.equal(made.replayed, undefined);
    assert.equal(made.order?.totalAmountCents, '4980');
    assert.deepEqual(await paste(create), { ...made, replayed: true });
    const asked = await paste(await first.line(/^npx buf curl .*\/GetOrderByClientRequestId$/));
    assert.deepEqual(asked, { state: 'INTENT_STATE_CREATED', order: made.order });
    const overHttp = await first.line(/^curl .*\/CreateOrder$/);
    if (existsSync('/usr/bin/curl')) assert.deepEqual(await paste(overHttp), { ...made, replayed: true });
    assert.equal(await availableBy(first), '998');
    const audit = await first.line(/npx ordersystem audit$/);
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', audit], { cwd: root });
    assert.match(stdout, /^1 numbers in .*: every rule holds\n$/);

    first.signal('SIGTERM');
    assert.equal(await first.ended, 0);
    for (const name of ['order-svc', 'stock-svc']) {
      assert.match(first.output, new RegExp(`"${name}","signal":"SIGTERM","message":"stopping"`));
    }
    await first.leavesNothing();

    const second = new StartedCommand('dev/start.ts', [], env);
    assert.equal(await availableBy(second), '998');
    const [pid] = await second.pids(/^[^\0]*node\0order-svc/);
    if (pid === undefined) second.signal('SIGTERM');
    else process.kill(pid, 'SIGKILL');
    assert.equal(await second.ended, pid === undefined ? 0 : 1);
    if (pid !== undefined) {
      assert.match(second.errors, /^start: order-svc ended with status 137; its last lines:\n {2}\{/);
    }
    await second.leavesNothing();
  });

  it('says so when a port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const address = other.address();
    const taken = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const start = new StartedCommand('dev/start.ts', [], { ...env, STOCK_LISTEN_ADDRESS: taken });
    assert.equal(await start.ended, 1);
    other.close();
    assert.equal(start.output, '');
    assert.match(start.errors, new RegExp(`^start: ${taken} is taken, .* set STOCK_LISTEN_ADDRESS .*\n$`));
  });
});

interface Answer {
  state?: string;
  order?: { totalAmountCents: string };
  replayed?: boolean;
  stocks?: { available: string }[];
}

async function paste(command: string): Promise<Answer> {
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], { cwd: root });
  return JSON.parse(stdout) as Answer;
}

/** What is left of product 1, by the command that was printed. */
async function availableBy(start: StartedCommand): Promise<string | undefined> {
  return (await paste(await start.line(/^npx buf curl .*\/GetStock$/))).stocks?.[0]?.available;
}
