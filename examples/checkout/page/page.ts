import { type Progress, PurchaseError, PurchaseIntent } from 'ordersystem-cloud';
import { createOrderClient } from 'ordersystem-cloud/web';
import { type Checkout, forgetCheckout, readCheckout, saveCheckout, settleCheckout } from './checkout.ts';
import { explainFailure, explainProgress } from './explain.ts';
import { fetchProducts } from './products.ts';
import { labelButton, readCart, say, showCart, showOrder, showTotal } from './view.ts';

const client = createOrderClient('/api');
let products = await fetchProducts();

/** Shows where the purchase stands, and goes on with it when it is under way. */
function show(): void {
  const checkout = readCheckout();
  if (checkout.phase !== 'ordered') showCart(checkout, products);
  if (checkout.phase === 'ordering' || checkout.phase === 'ordered') void order(checkout);
  else if (products.length === 0) say('unknown', 'The shop cannot show its products now. Reload the page later.');
}

/** Submits a purchase, for the first time or again: it is one order. */
async function order({ intent, phase }: Checkout): Promise<void> {
  try {
    const onProgress = (progress: Progress) => say('busy', explainProgress(progress, phase));
    const made = await intent.submit(client, { onProgress });
    settleCheckout(intent, 'ordered');
    // A page of its own; whoever goes back from it finds the order here too.
    if (phase === 'ordered') showOrder(made);
    else location.assign('/ordered');
  } catch (error) {
    if (!(error instanceof PurchaseError)) throw error;
    if (phase === 'ordered') return say('ordered', 'Your order was placed. Reload this page later to see it.');
    if (error.settled) {
      settleCheckout(intent, 'refused');
      products = await fetchProducts();
      show();
    } else {
      labelButton('Try again');
    }
    say(error.settled ? 'refused' : 'unknown', explainFailure(error, products));
  }
}

document.addEventListener('submit', (event) => {
  event.preventDefault();
  const { phase, intent } = readCheckout();
  // Another tab has bought it.
  if (phase === 'ordered') return show();
  // After a refusal the user decides anew; until then he says the same again.
  const decided = phase === 'refused' ? PurchaseIntent.create(readCart(products)) : intent;
  showCart(saveCheckout({ phase: 'ordering', intent: decided }), products);
  void order({ phase: 'ordering', intent: decided });
});

document.addEventListener('input', () => {
  const { phase } = readCheckout();
  // Another tab has submitted it.
  if (phase === 'ordering' || phase === 'ordered') return show();
  const { intent } = saveCheckout({ phase: 'cart', intent: PurchaseIntent.create(readCart(products)) });
  showTotal(intent.items);
  // What was said was about another cart.
  say('busy', '');
});

document.getElementById('again')!.addEventListener('click', () => {
  forgetCheckout();
  location.assign('/');
});

// Another tab has changed it, or the user has come back to this page as he left it.
addEventListener('storage', show);
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) show();
});
show();
