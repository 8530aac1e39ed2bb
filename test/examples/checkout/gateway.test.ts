import assert from 'node:assert/strict';
import { type CallOptions, Code } from '@connectrpc/connect';
import { createOrderClient } from '../../../client/web.ts';
import { startGateway } from '../../../examples/checkout/gateway.ts';
import { failureOf } from '../../runtime/rpc/rig.ts';
import { failsWith } from '../../support/expect.ts';
import { newKey, type OrderNode, product, useSystem } from '../../support/system.ts';

describe("the checkout's gateway", () => {
  const system = useSystem();
  const productIds: bigint[] = [];
  let node: OrderNode;
  let gateway: Awaited<ReturnType<typeof startGateway>>;
  before(async () => {
    node = await system.orderNode();
    productIds.push(await product(system, 100n, 199n));
    const { stockAddress } = system;
    gateway = await startGateway({ listen: '127.0.0.1:0', orderAddress: node.address, stockAddress, productIds });
  });
  after(() => gateway.stop());

  const get = (path: string, headers = {}) => fetch(`http://${gateway.address}${path}`, { headers });
  const client = () => createOrderClient(`http://${gateway.address}/api`);

  /** Opens the page as somebody new. Returns his cookie. */
  async function signIn(): Promise<string> {
    const [cookie] = /^session=[^;]+/.exec((await get('/')).headers.get('set-cookie')!)!;
    return cookie;
  }
  const withCookie = (cookie: string): CallOptions => ({ headers: { cookie } });
  const buy = (options: CallOptions) =>
    client().createOrder({ clientRequestId: newKey(), items: [{ productId: productIds[0]!, quantity: 1n }] }, options);

  it('serves the page, its script, and the products at their prices', async () => {
    for (const [path, type] of [
      ['/', 'text/html'],
      ['/ordered', 'text/html'],
      ['/page.js', 'text/javascript'],
      ['/page.css', 'text/css'],
    ]) {
      const response = await get(path!);
      assert.equal(response.headers.get('content-type'), `${type}; charset=utf-8`);
      assert.ok((await response.text()).length > 100);
    }
    const [first] = (await (await get('/products')).json()) as { productId: string; unitPriceCents: string }[];
    assert.deepEqual([first!.productId, first!.unitPriceCents], [String(productIds[0]), '199']);
    assert.equal((await get('/../session.ts')).status, 404);
  });

  it('gives each new browser a user of its own, and keeps it', async () => {
    const [one, other] = [await signIn(), await signIn()];
    assert.notEqual(one, other);
    assert.equal((await get('/', { cookie: one })).headers.get('set-cookie'), null);
    const { order } = await buy(withCookie(one));
    const { orderNo } = order!;
    assert.equal((await client().getOrder({ orderNo }, withCookie(one))).order!.orderNo, orderNo);
    await failsWith(client().getOrder({ orderNo }, withCookie(other)), 'ORDER_NOT_FOUND');
  });

  it('lets nobody order without a session of its own making', async () => {
    const [user, signature] = (await signIn()).slice('session='.length).split('.') as [string, string];
    const forged = [
      {},
      withCookie(`session=${user}`),
      withCookie(`session=${user}.`),
      withCookie(`session=${Number(user) + 1}.${signature}`),
      withCookie(`session=${user}.${signature.slice(1)}`),
      { headers: { 'x-user-id': user } },
    ];
    for (const options of forged) assert.equal((await failureOf(buy(options))).code, Code.Unauthenticated);
    assert.equal((await buy(withCookie(`a=b; session=${user}.${signature}`))).replayed, false);
  });

  it("hands on the service's errors whole, and of others no more than the code", async () => {
    const options = withCookie(await signIn());
    const told = await failsWith(
      client().createOrder({ clientRequestId: newKey(), items: [] }, options),
      'INVALID_REQUEST',
    );
    assert.match(told.rawMessage, /^items: /);
    const nowhere = { listen: '127.0.0.1:0', orderAddress: '127.0.0.1:1', stockAddress: '127.0.0.1:1', productIds };
    const lonely = await startGateway(nowhere);
    const page = await fetch(`http://${lonely.address}/`);
    const [cookie] = /^session=[^;]+/.exec(page.headers.get('set-cookie')!)!;
    const call = createOrderClient(`http://${lonely.address}/api`).createOrder({}, withCookie(cookie));
    const error = await failureOf(call);
    assert.deepEqual([error.code, error.rawMessage], [Code.Unavailable, 'the shop cannot reach its orders']);
    assert.equal((await fetch(`http://${lonely.address}/products`)).status, 503);
    await lonely.stop();
  });
});
