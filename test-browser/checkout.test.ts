import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { until } from '../test/support/expect.ts';
import { useShop } from './shop.ts';

const submit = (page: Page) => page.getByRole('button', { name: /Submit|Try again/ });
const status = (page: Page) => page.locator('#status');
const PERSIST = /DELETE FROM t_order_claim WHERE order_no IN/;

describe('the checkout page', function () {
  this.timeout(60_000);
  const shop = useShop();

  it('orders once for a double click', async () => {
    const page = await shop.filledTab();
    await shop.picture(page, '1-cart');
    // So that the page is still there when the second click comes.
    const persist = shop.node.sql.hold(PERSIST);
    await submit(page).dblclick();
    await persist.reached;
    persist.release();
    await shop.assertOneOrder(page);
    await shop.picture(page, '2-ordered');
  });

  it('orders once when the answer stalls and the user clicks again', async () => {
    const page = await shop.filledTab();
    shop.wire.stall();
    await submit(page).click();
    await until('the order', async () => (await shop.orders()) === 1);
    assert.equal(await status(page).textContent(), 'Placing your order…');
    await submit(page).click();
    await shop.picture(page, '3-stalled');
    shop.wire.resume();
    await shop.assertOneOrder(page);
  });

  it('says when there is no answer, and finds the order when the network is back', async () => {
    const page = await shop.filledTab();
    shop.wire.stall();
    await submit(page).click();
    await status(page).getByText('There is no answer yet').waitFor();
    await submit(page).click();
    await shop.picture(page, '4-no-answer');
    assert.match((await status(page).textContent())!, /there will be no second order/);
    shop.wire.resume();
    await shop.assertOneOrder(page);
  });

  it('says that it does not know when its time is over, and orders once when the user tries again', async () => {
    const page = await shop.filledTab();
    await page.clock.install();
    shop.wire.stall();
    await submit(page).click();
    await until('the order', async () => (await shop.orders()) === 1);
    await page.clock.runFor(40_000);
    await status(page).getByText('We do not know yet whether your order was placed.').waitFor();
    await shop.picture(page, '9-unknown');
    shop.wire.resume();
    await page.getByRole('button', { name: 'Try again' }).click();
    await shop.assertOneOrder(page);
  });

  it('finds the order whose answer was lost on the way', async () => {
    const page = await shop.filledTab();
    shop.wire.stall();
    await submit(page).click();
    await until('the order', async () => (await shop.orders()) === 1);
    shop.wire.cut();
    await shop.assertOneOrder(page);
  });

  it('goes on with the order after a reload while it waits', async () => {
    const page = await shop.filledTab();
    const persist = shop.node.sql.hold(PERSIST);
    await submit(page).click();
    await persist.reached;
    await page.reload();
    await status(page).getByText('Placing your order…').waitFor();
    await shop.picture(page, '5-reloaded');
    persist.release();
    await shop.assertOneOrder(page);
  });

  it('orders once from two tabs that show the same cart', async () => {
    const other = await shop.tab();
    const page = await shop.filledTab();
    assert.equal(await other.getByLabel(/^Pieces of/).inputValue(), '1');
    // At the same moment, as far as there is one.
    await Promise.all([page, other].map((tab) => tab.evaluate("document.getElementById('submit').click()")));
    await shop.assertOneOrder(page);
    await shop.assertOneOrder(other);
  });

  it('shows the order, and no cart to order again, to a user who goes back', async () => {
    const page = await shop.filledTab();
    await submit(page).click();
    await shop.assertOneOrder(page);
    assert.equal(new URL(page.url()).pathname, '/ordered');
    await page.goBack();
    assert.equal(new URL(page.url()).pathname, '/');
    await shop.assertOneOrder(page);
    await shop.picture(page, '6-back');

    await page.getByRole('button', { name: 'Buy something else' }).click();
    await page.getByText('Your cart').waitFor();
    assert.equal(await page.getByLabel(/^Pieces of/).inputValue(), '0');
    assert.equal(await submit(page).isDisabled(), true);
    assert.equal(await shop.orders(), 1);
  });

  it('says why there is no order, and orders what the user decides then', async () => {
    const page = await shop.filledTab(11);
    await submit(page).click();
    await status(page)
      .getByText(/^No order was placed: only 10 of “Product \d+” are left\.$/)
      .waitFor();
    await shop.picture(page, '7-refused');
    assert.equal(await shop.orders(), 0);
    await page.getByLabel(/^Pieces of/).fill('1');
    await submit(page).click();
    await shop.assertOneOrder(page);
  });

  it('keeps the purchase of a user whose session is over until he is signed in again', async () => {
    const page = await shop.filledTab();
    await shop.context.clearCookies();
    await submit(page).click();
    await status(page).getByText('Your session is over.').waitFor();
    await shop.picture(page, '8-signed-out');
    assert.equal(await shop.orders(), 0);
    await page.reload();
    await shop.assertOneOrder(page);
  });
});
