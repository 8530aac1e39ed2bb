import assert from 'node:assert/strict';
import { MethodOptions_IdempotencyLevel as Idempotency } from '@bufbuild/protobuf/wkt';
import type { ConnectError } from '@connectrpc/connect';
import { connectStockService, type ConnectOptions, type Connected } from '../../client/clients.ts';
import { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { errorInfoOf, reasonOf } from '../../runtime/rpc/errors.ts';
import { callerCredentials } from '../support/certificates.ts';
import { SECRET, startGuardedStock } from '../support/guarded-stock.ts';
import { signed } from '../support/issuer.ts';
import type { StockClient } from '../support/stock-edge.ts';
import { useSystem } from '../support/system.ts';

describe('scopes of stock-svc', () => {
  const system = useSystem();
  const connected: Connected<StockClient>[] = [];
  let stock: Awaited<ReturnType<typeof startGuardedStock>>;
  before(async () => (stock = await startGuardedStock(system)));
  after(async () => {
    connected.forEach(({ close }) => close());
    await stock.stop();
  });

  function client(options: ConnectOptions): StockClient {
    const one = connectStockService(stock.target, { credentials: callerCredentials(), ...options });
    connected.push(one);
    return one.client;
  }
  const withScope = (scope: string) =>
    client({ token: () => signed({ sub: 'warehouse', scope }, { alg: 'HS256' }, Buffer.from(SECRET)) });

  /** What an empty request to each method comes to: `denied: SCOPE` or the reason of an error further on, or `served`. */
  async function outcomes(caller: StockClient): Promise<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const { localName } of StockService.methods) {
      found[localName] = await (caller[localName as keyof StockClient] as (request: object) => Promise<unknown>)(
        {},
      ).then(
        () => 'served',
        (error: ConnectError) =>
          reasonOf(error) === 'PERMISSION_DENIED'
            ? `denied: ${errorInfoOf(error)!.metadata['scope']} ${errorInfoOf(error)!.metadata['retry']}`
            : String(reasonOf(error)),
      );
    }
    return found;
  }
  const all = (reads: string, writes: string) =>
    Object.fromEntries(
      StockService.methods.map(({ localName, idempotency }) => [
        localName,
        idempotency === Idempotency.NO_SIDE_EFFECTS ? reads : writes,
      ]),
    );
  const PASSED = 'INVALID_REQUEST';

  it('are asked for by every method: GetStock reads, everything else writes', async () => {
    const [reads, writes] = ['denied: stock.read never', 'denied: stock.write never'];
    assert.deepEqual(await outcomes(withScope('')), all(reads, writes));
    assert.deepEqual(await outcomes(withScope('stock.reads stock stock.*')), all(reads, writes));
    assert.deepEqual(await outcomes(withScope('stock.read')), all(PASSED, writes));
    assert.deepEqual(await outcomes(withScope('stock.write')), all(reads, PASSED));
    assert.deepEqual(await outcomes(withScope('openid stock.write stock.read')), all(PASSED, PASSED));
    const read = StockService.methods.filter((method) => method.idempotency === Idempotency.NO_SIDE_EFFECTS);
    assert.deepEqual(
      read.map((method) => method.name),
      ['GetStock'],
    );
  });

  it('are all with a certificate of a trusted name, and none with another', async () => {
    assert.deepEqual(await outcomes(client({ credentials: callerCredentials('order-svc') })), all(PASSED, PASSED));
    const refused = all('UNAUTHENTICATED', 'UNAUTHENTICATED');
    assert.deepEqual(await outcomes(client({ credentials: callerCredentials('gateway') })), refused);
    assert.deepEqual(await outcomes(client({})), refused);
  });

  it('are all on this machine, where nothing else is configured', async () => {
    assert.deepEqual(await outcomes(system.stock), all(PASSED, PASSED));
  });
});
