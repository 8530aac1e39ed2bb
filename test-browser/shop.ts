import assert from 'node:assert/strict';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { root } from '../dev/check/run-tool.ts';
import { startGateway } from '../examples/checkout/gateway.ts';
import { until } from '../test/support/expect.ts';
import { movementsOf, type OrderNode, product, type System, useSystem } from '../test/support/system.ts';
import { WireProxy } from '../test/support/wire-proxy.ts';

/** The shop of examples/checkout before a real system, and a real browser before the shop. */
export interface Shop {
  readonly system: System;
  readonly node: OrderNode;
  /** Between the browser and the gateway. */
  readonly wire: WireProxy;
  /** What is sold in this test: one product, 10 pieces. */
  readonly productId: bigint;
  /** A user's browser: its tabs share their storage. New for each test. */
  readonly context: BrowserContext;
  /** Opens a tab on the cart. */
  readonly tab: () => Promise<Page>;
  /** Opens a tab on the cart, and puts pieces into it. */
  readonly filledTab: (pieces?: number) => Promise<Page>;
  /** How many orders there are. */
  readonly orders: () => Promise<number>;
  /** There is one order, of one piece, and the page shows its number. */
  readonly assertOneOrder: (page: Page) => Promise<void>;
  /** A picture of the page, for people. */
  readonly picture: (page: Page, name: string) => Promise<void>;
}

const pictures = join(root, '.data/pictures');

/** For the suite that calls this. It is skipped where there is no Chromium. */
export function useShop(): Shop {
  const system = useSystem();
  const shop = { system } as { -readonly [Name in keyof Shop]: Shop[Name] };
  const productIds: bigint[] = [];
  let gateway: Awaited<ReturnType<typeof startGateway>>;
  let browser: Browser;
  let ordersBefore = 0;

  before(async function () {
    const executablePath = findChromium();
    if (!executablePath) {
      console.log(
        '  skipped: this machine has no chromium (Debian: apt-get install chromium; else set CHROMIUM to its path)',
      );
      this.skip();
    }
    shop.node = await system.orderNode();
    const [orderAddress, stockAddress] = [shop.node.address, system.stockAddress];
    gateway = await startGateway({ listen: '127.0.0.1:0', orderAddress, stockAddress, productIds });
    shop.wire = await WireProxy.to(gateway.address);
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
    console.log(`  Chromium ${browser.version()}; pictures are in ${pictures}`);
  });
  beforeEach(async () => {
    shop.context = await browser.newContext();
    shop.productId = await product(system, 10n);
    productIds.splice(0, Infinity, shop.productId);
    ordersBefore = await system.orderDb.Order.count();
  });
  afterEach(async () => {
    shop.wire.cut();
    await shop.context.close();
  });
  after(async () => {
    await browser?.close();
    await shop.wire?.close();
    await gateway?.stop();
  });

  shop.tab = async () => {
    const page = await shop.context.newPage();
    page.on('pageerror', (error) => assert.fail(error));
    await page.goto(`http://${shop.wire.address}/`);
    return page;
  };
  shop.filledTab = async (pieces = 1) => {
    const page = await shop.tab();
    await page.getByLabel(/^Pieces of/).fill(String(pieces));
    return page;
  };
  shop.orders = async () => (await system.orderDb.Order.count()) - ordersBefore;
  shop.assertOneOrder = async (page) => {
    await page.getByText('Your order was placed.').waitFor();
    await until('the end of every attempt', async () => (await system.orderDb.OrderClaim.count()) === 0);
    assert.equal(await shop.orders(), 1);
    assert.deepEqual(await movementsOf(system, shop.productId), ['DEDUCT 1']);
    const [order] = await system.orderDb.Order.findAll({ order: [['id', 'DESC']], limit: 1, raw: true });
    assert.equal(await page.locator('#order-no').textContent(), order!.order_no);
    assert.equal(await page.getByRole('button', { name: 'Submit order' }).isVisible(), false);
  };
  shop.picture = async (page, name) => void (await page.screenshot({ path: join(pictures, `${name}.png`) }));
  return shop;
}

function findChromium(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const paths = folders.flatMap((folder) =>
    ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)),
  );
  return [process.env['CHROMIUM'] ?? '', ...paths].find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
