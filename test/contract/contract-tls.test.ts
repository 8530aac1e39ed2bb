import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { loadOrderConfig } from '../../order-svc/config.ts';
import { startOrderService } from '../../order-svc/service.ts';
import { silentLogger } from '../../runtime/lifecycle/logger.ts';
import { loadStockConfig } from '../../stock-svc/config.ts';
import { startStockService } from '../../stock-svc/service.ts';
import { pemPath, useFolder } from '../support/certificates.ts';
import { SECRET } from '../support/guarded-stock.ts';
import { AUDIENCE, ISSUER, seconds, signed } from '../support/issuer.ts';
import { databaseUrlOf, useSystem } from '../support/system.ts';
import { everyCheck } from './every-check.ts';
import { runChecks } from './run-checks.ts';
import { readTargets } from './targets.ts';

describe('the contract, kept by a deployment with TLS and tokens', () => {
  const system = useSystem();
  const folder = useFolder();
  const ends: (() => Promise<unknown>)[] = [];
  let asked: Exclude<ReturnType<typeof readTargets>, string>;

  const token = (claims: object) =>
    signed({ exp: seconds(600), ...claims }, { alg: 'HS256' }, new TextEncoder().encode(SECRET));
  const local = (address: string) => address.replace('127.0.0.1', 'localhost');
  const secure = {
    LISTEN_ADDRESS: '127.0.0.1:0',
    HTTP_LISTEN_ADDRESS: '127.0.0.1:0',
    TLS_CERT_FILE: pemPath('server.pem'),
    TLS_KEY_FILE: pemPath('server.key'),
    JWT_SECRET: SECRET,
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    DRAIN_MS: '0',
  };

  before(async () => {
    const scope = 'stock.read stock.write';
    const stock = await startStockService(
      loadStockConfig({ ...secure, DATABASE_URL: databaseUrlOf(system.stockDb) }),
      silentLogger,
    );
    ends.unshift(() => stock.stop());
    writeFileSync(folder.path('token'), await token({ scope }));
    const order = await startOrderService(
      loadOrderConfig({
        ...secure,
        DATABASE_URL: databaseUrlOf(system.orderDb),
        STOCK_TARGET: local(stock.address),
        STOCK_TLS_CA_FILE: pemPath('ca.pem'),
        STOCK_TOKEN_FILE: folder.path('token'),
      }),
      silentLogger,
    );
    ends.unshift(() => order.stop());
    const wanted = readTargets({
      target: local(order.address),
      'stock-target': local(stock.address),
      'http-target': local(order.httpAddress!),
      'stock-http-target': local(stock.httpAddress!),
      header: [`authorization: Bearer ${await token({ sub: '42' })}`],
      'stock-header': [`authorization: Bearer ${await token({ scope })}`],
      ca: pemPath('ca.pem'),
    });
    assert.ok(typeof wanted !== 'string', 'nothing is wrong with them');
    asked = wanted;
  });
  after(async () => {
    for (const end of ends) await end();
  });

  it('by every caller', async function () {
    this.timeout(120_000);
    await using cleanup = new AsyncDisposableStack();
    const { checks } = everyCheck(asked.targets, asked.headers, cleanup);
    // buf is a process for each call: what differs with TLS is how it connects and what it sends beside the message.
    const some = checks.filter(
      ({ name, caller }) =>
        !caller.includes('buf') || /^(reflection|GetOrder reads|GetStock reads|GetOrder UNAUTH)/.test(name),
    );
    const broken = [];
    for await (const { name, caller, failure } of runChecks(some)) {
      if (failure !== undefined) broken.push(`${caller}: ${name}: ${failure}`);
    }
    assert.deepEqual(broken, []);
    assert.ok(new Set(some.map(({ caller }) => caller)).size >= 8);
  });
});
