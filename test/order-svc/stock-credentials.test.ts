import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { type Client, createClient } from '@connectrpc/connect';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { loadOrderConfig } from '../../order-svc/config.ts';
import { startOrderService } from '../../order-svc/service.ts';
import { silentLogger } from '../../runtime/lifecycle/logger.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';
import { pemPath, useFolder } from '../support/certificates.ts';
import { failsWith, until } from '../support/expect.ts';
import { SECRET, startGuardedStock } from '../support/guarded-stock.ts';
import { seconds, signed } from '../support/issuer.ts';
import { as, databaseUrlOf, newKey, product, useSystem } from '../support/system.ts';

describe('order-svc shows stock-svc who it is', () => {
  const system = useSystem();
  const folder = useFolder();
  let ends: (() => unknown)[] = [];
  let stockTarget: string;
  before(async () => {
    const stock = await startGuardedStock(system);
    stockTarget = stock.target;
    after(() => stock.stop());
  });
  afterEach(async () => {
    for (const end of ends.reverse()) await end();
    ends = [];
  });

  /** An order-svc with these credentials. */
  async function orders(env: Record<string, string>): Promise<Client<typeof OrderService>> {
    const config = loadOrderConfig({
      DATABASE_URL: databaseUrlOf(system.orderDb),
      LISTEN_ADDRESS: '127.0.0.1:0',
      STOCK_TARGET: stockTarget,
      STOCK_TLS_CA_FILE: pemPath('ca.pem'),
      REAPER_INTERVAL_MS: '600000',
      RELAY_INTERVAL_MS: '20',
      ...env,
    });
    const service = await startOrderService(config, silentLogger);
    const transport = createGrpcTransport({ target: service.address });
    ends.push(
      () => service.stop(),
      () => transport.close(),
    );
    return createClient(OrderService, transport);
  }
  const buy = async (client: Client<typeof OrderService>) => {
    const items = [{ productId: await product(system, 5n), quantity: 1n }];
    return client.createOrder({ clientRequestId: newKey(), items }, as(1));
  };
  const identity = (name: string) => ({
    STOCK_TLS_CERT_FILE: pemPath(`${name}.pem`),
    STOCK_TLS_KEY_FILE: pemPath(`${name}.key`),
  });
  const tokenFile = async (claims: object) => {
    const token = await signed(
      { sub: 'order-svc', scope: 'stock.write', ...claims },
      { alg: 'HS256' },
      Buffer.from(SECRET),
    );
    writeFileSync(folder.path('draft'), `${token}\n`);
    return { STOCK_TOKEN_FILE: folder.put('token', folder.path('draft')) };
  };

  it('by a certificate', async () => {
    assert.ok((await buy(await orders(identity('order-svc')))).order);
  });

  it('by a token, which is read again when it is replaced', async () => {
    const client = await orders(await tokenFile({ exp: seconds(-60) }));
    await failsWith(buy(client), 'SERVICE_UNAVAILABLE');
    await tokenFile({});
    await until('the new token is shown', () =>
      buy(client).then(
        () => true,
        () => false,
      ),
    );
  });

  it('and tells its own caller nothing of it when it is refused', async () => {
    for (const env of [{}, identity('stranger'), await tokenFile({ scope: 'stock.read' })]) {
      const error = await failsWith(buy(await orders(env)), 'SERVICE_UNAVAILABLE');
      assert.equal(error.rawMessage, 'stock-svc is not available');
    }
  });

  it('and shows nothing to a stock-svc that its authority does not know', async () => {
    const env = { ...identity('order-svc'), STOCK_TLS_CA_FILE: pemPath('other-ca.pem') };
    await failsWith(buy(await orders(env)), 'SERVICE_UNAVAILABLE');
  });
});
