// Callers of order-svc: grpc-js and nothing else. Arguments: the addresses of the processes of order-svc.
import { randomUUID } from 'node:crypto';
import {
  create,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { OrderService } from '../gen/ordersystem/order/v1/order_service_pb.ts';
import { BareCalls } from './bare-calls.ts';
import { fixtures } from './fixtures.ts';
import { type Job, serve } from './worker.ts';

// To find out where each of thousands of refusals comes from would take the machine away from what is measured.
Error.stackTraceLimit = 0;

const CONNECTIONS = 4;
const REPLAYED_KEYS = 10_000;

const addresses = process.argv.slice(2).flatMap((address) => Array<string>(CONNECTIONS).fill(address));
const clients = addresses.map(
  (address) => new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 }),
);
const bare = new BareCalls(addresses);
const { createOrder, getOrder } = OrderService.method;
let next = 0;

function call<M extends DescMethodUnary>(
  method: M,
  request: MessageInitShape<M['input']>,
  user: number,
): Promise<MessageShape<M['output']>> {
  const metadata = new Metadata();
  metadata.set('x-user-id', String(user));
  return new Promise((resolve, reject) => {
    clients[next++ % clients.length]!.makeUnaryRequest(
      pathOf(method),
      (message: MessageShape<M['input']>) => Buffer.from(toBinary(method.input, message)),
      (bytes) => fromBinary(method.output, bytes) as MessageShape<M['output']>,
      create(method.input, request) as MessageShape<M['input']>,
      metadata,
      { deadline: Date.now() + 10_000 },
      (error, response) => (error ? reject(error) : resolve(response!)),
    );
  });
}

const pathOf = (method: DescMethodUnary) => `/${method.parent.typeName}/${method.name}`;
const user = (key: string) => 1 + (Number.parseInt(key.slice(0, 6), 16) || 0);
const item = (productId: number) => ({ productId: BigInt(productId), quantity: 1n });
const buy = (clientRequestId: string, ...products: number[]) =>
  call(createOrder, { clientRequestId, items: products.map(item) }, user(clientRequestId));

/** Keys whose orders are there, for replays and reads; made when they are first needed. */
const known: { key: string; orderNo: string }[] = [];
async function makeKnown(): Promise<void> {
  const one = async () => {
    while (known.length < REPLAYED_KEYS) {
      const key = randomUUID();
      const { order } = await buy(key, 1);
      known.push({ key, orderNo: order!.orderNo });
    }
  };
  await Promise.all(Array.from({ length: 64 }, one));
}
const anyKnown = () => known[Math.floor(Math.random() * known.length)]!;

async function pair(): Promise<void> {
  const key = randomUUID();
  const product = fixtures.anyProduct();
  const [one, other] = await Promise.all([buy(key, product), buy(key, product)]);
  if (one.order!.orderNo !== other.order!.orderNo) throw new Error('one key, two orders');
}

async function soldOut(): Promise<void> {
  const error = await buy(randomUUID(), fixtures.soldOutProduct).then(
    () => new Error('sold what is not there'),
    (caught: ServiceError) => caught,
  );
  if (!error.message.includes('available')) throw error;
}

const jobs: Record<string, Job> = {
  'make-known': makeKnown,
  fresh: () => buy(randomUUID(), fixtures.anyProduct()),
  offered: () => {
    const clientRequestId = randomUUID();
    const request = create(createOrder.input, { clientRequestId, items: [item(fixtures.anyProduct())] });
    return bare.call(pathOf(createOrder), toBinary(createOrder.input, request), user(clientRequestId));
  },
  items5: () => {
    const first = fixtures.anyProduct();
    return buy(randomUUID(), ...Array.from({ length: 5 }, (_, i) => ((first + i * 19) % 100) + 1));
  },
  hot: () => buy(randomUUID(), fixtures.hotProduct),
  'replay-one': () => buy(known[0]!.key, 1),
  'replay-many': () => buy(anyKnown().key, 1),
  pairs: pair,
  soldout: soldOut,
  get: () => {
    const { key, orderNo } = anyKnown();
    return call(getOrder, { orderNo }, user(key));
  },
};

serve((name) => jobs[name]!);
