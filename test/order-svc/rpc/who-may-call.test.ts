import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import type { Client } from '@connectrpc/connect';
import { connectOrderService, type ConnectOptions } from '../../../client/clients.ts';
import type { OrderService } from '../../../gen/ordersystem/order/v1/order_service_pb.ts';
import { errorInfoOf } from '../../../runtime/rpc/errors.ts';
import { callerCredentials, pemPath, useFolder } from '../../support/certificates.ts';
import { failsWith, until } from '../../support/expect.ts';
import { AUDIENCE, Issuer, ISSUER, seconds } from '../../support/issuer.ts';
import { as, availableOf, newKey, product, useSystem } from '../../support/system.ts';

describe('order-svc that asks who calls', () => {
  const system = useSystem();
  const folder = useFolder();
  const closes: (() => void)[] = [];
  let issuer: Issuer;
  let address: string;
  let tea: bigint;

  function publish(...issuers: Issuer[]): string {
    writeFileSync(folder.path('draft'), JSON.stringify({ keys: issuers.map(({ jwk }) => jwk) }));
    return folder.put('jwks.json', folder.path('draft'));
  }
  before(async () => {
    issuer = await Issuer.open();
    const node = await system.orderNode({
      TLS_CERT_FILE: folder.put('tls.pem', pemPath('server.pem')),
      TLS_KEY_FILE: folder.put('tls.key', pemPath('server.key')),
      TLS_CLIENT_CA_FILE: pemPath('ca.pem'),
      TLS_CLIENT_NAMES: 'gateway.internal,spiffe://shop/bff',
      JWT_JWKS_FILE: publish(issuer),
      JWT_ISSUER: ISSUER,
      JWT_AUDIENCE: AUDIENCE,
    });
    address = node.address.replace('127.0.0.1', 'localhost');
    tea = await product(system, 1000n);
  });
  after(() => closes.forEach((close) => close()));

  function client(options: ConnectOptions): Client<typeof OrderService> {
    const connected = connectOrderService(address, { credentials: callerCredentials(), ...options });
    closes.push(connected.close);
    return connected.client;
  }
  const withToken = (...args: Parameters<Issuer['token']>) => client({ token: () => issuer.token(...args) });
  const withCertificate = (name: string) => client({ credentials: callerCredentials(name) });
  const cart = () => ({ clientRequestId: newKey(), items: [{ productId: tea, quantity: 1n }] });

  it("takes a token's user for the user, and shows him nobody else's orders", async () => {
    const { order } = await withToken({ sub: '42' }).createOrder(cart());
    const { orderNo } = order!;
    assert.equal((await withToken({ sub: '42' }).getOrder({ orderNo })).order!.orderNo, orderNo);
    await failsWith(withToken({ sub: '43' }).getOrder({ orderNo }), 'ORDER_NOT_FOUND');
    assert.equal((await system.orderDb.Order.findOne({ where: { order_no: orderNo } }))?.user_id, '42');
  });

  it('takes the user that a gateway with a certificate names, and the order is the same that his token shows', async () => {
    for (const gateway of ['gateway', 'bff']) {
      const { order } = await withCertificate(gateway).createOrder(cart(), as(44));
      await withToken({ sub: '44' }).getOrder({ orderNo: order!.orderNo });
    }
  });

  const refusals: Record<string, (user: ReturnType<typeof as>) => Promise<unknown>> = {
    'nobody at all': () => client({}).createOrder(cart()),
    'x-user-id from this machine': (user) => client({}).createOrder(cart(), user),
    'x-user-id beside a token': (user) => withToken({ sub: '1' }).createOrder(cart(), user),
    "x-user-id beside a gateway's certificate and a token": async (user) =>
      client({ credentials: callerCredentials('gateway'), token: () => issuer.token() }).createOrder(cart(), user),
    'a certificate of another name': (user) => withCertificate('stranger').createOrder(cart(), user),
    'an allowed name as the subject of another': (user) =>
      withCertificate('named-by-subject').createOrder(cart(), user),
    'an allowed name by another authority': (user) => withCertificate('forged').createOrder(cart(), user),
    "an allowed name in a server's certificate": (user) => withCertificate('not-a-client').createOrder(cart(), user),
    'a gateway that names nobody': () => withCertificate('gateway').createOrder(cart()),
    'a gateway that names no number': () =>
      withCertificate('gateway').createOrder(cart(), { headers: { 'x-user-id': 'me' } }),
    'a token that has expired': () => withToken({ exp: seconds(-60) }).createOrder(cart()),
    'a token for another audience': () => withToken({ aud: 'other' }).createOrder(cart()),
    'a token of no user': () => withToken({ sub: undefined }).createOrder(cart()),
    'a token whose user is no number': () => withToken({ sub: 'order-svc' }).createOrder(cart()),
    'a token whose user is no int64': () => withToken({ sub: '9223372036854775808' }).createOrder(cart()),
  };
  for (const [what, call] of Object.entries(refusals)) {
    it(`refuses ${what}: UNAUTHENTICATED, and nothing was touched`, async () => {
      const state = async () => [await availableOf(system, tea), await system.orderDb.Order.count()];
      const before = await state();
      const error = await failsWith(call(as(1)), 'UNAUTHENTICATED');
      assert.deepEqual(errorInfoOf(error)!.metadata, { retry: 'never' });
      assert.deepEqual(await state(), before);
      assert.equal(await system.orderDb.OrderClaim.count(), 0);
    });
  }

  it('goes on while its certificate and the keys of tokens are replaced, and then believes the new ones', async () => {
    const next = await Issuer.open('RS256');
    const old = withToken({ sub: '50' });
    const outcomes: unknown[] = [];
    let going = true;
    const calls = (async () => {
      while (going) {
        const outcome = await old.createOrder(cart()).then(
          () => 'made',
          (error: unknown) => error,
        );
        outcomes.push(outcome);
      }
    })();
    folder.put('tls.pem', pemPath('renewed-server.pem'));
    folder.put('tls.key', pemPath('renewed-server.key'));
    publish(issuer, next);
    const renewed = client({ token: () => next.token({ sub: '51' }) });
    await until('the new key is believed', () =>
      renewed.createOrder(cart()).then(
        () => true,
        () => false,
      ),
    );
    going = false;
    await calls;
    assert.deepEqual([...new Set(outcomes)], ['made']);

    publish(next);
    await until('the old key is not believed any more', () =>
      old.createOrder(cart()).then(
        () => false,
        () => true,
      ),
    );
    await failsWith(old.createOrder(cart()), 'UNAUTHENTICATED');
    await renewed.createOrder(cart());
  });
});
