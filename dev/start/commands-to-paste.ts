const ORDER_SERVICE = 'ordersystem.order.v1.OrderService';

/** Commands to paste into a shell in the project's folder: what they do, and the command. */
export function curlCommands(
  orderAddress: string,
  stockAddress: string,
  orderHttpAddress: string,
  key: string,
): [string, string][] {
  const order = `http://${orderAddress}/${ORDER_SERVICE}`;
  const stock = `http://${stockAddress}/ordersystem.stock.v1.StockService`;
  const cart = { client_request_id: key, items: [{ product_id: 1, quantity: 2 }] };
  return [
    [
      'buy; paste it twice: the second answer is the same order, "replayed": true',
      asUser(`${order}/CreateOrder`, cart),
    ],
    ['ask what became of that purchase', asUser(`${order}/GetOrderByClientRequestId`, { client_request_id: key })],
    ['send that purchase again, over HTTP', plainCurl(`http://${orderHttpAddress}/${ORDER_SERVICE}/CreateOrder`, cart)],
    ['see what is left in stock', curl(`${stock}/GetStock`, { product_ids: [1, 2, 3] })],
  ];
}

/** How to look into the databases. */
export function auditCommand(orderUrl: string, stockUrl: string): string {
  return `ORDER_DATABASE_URL=${orderUrl} STOCK_DATABASE_URL=${stockUrl} npx ordersystem audit`;
}

function plainCurl(url: string, body: object): string {
  return `curl -H 'content-type: application/json' -H 'x-user-id: 42' -d '${JSON.stringify(body)}' ${url}`;
}

function asUser(url: string, body: object): string {
  return curl(url, body, "-H 'x-user-id: 42' ");
}

function curl(url: string, body: object, header = ''): string {
  // With the schema at hand, buf asks the server nothing and needs no network.
  return `npx buf curl --schema proto --protocol grpc --http2-prior-knowledge ${header}-d '${JSON.stringify(body)}' ${url}`;
}
