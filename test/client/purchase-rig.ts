import assert from 'node:assert/strict';
import { type Client, createClient } from '@connectrpc/connect';
import {
  type Order,
  type Progress,
  PurchaseError,
  PurchaseIntent,
  type SubmitOptions,
} from '../../client/purchase-intent.ts';
import { OrderService } from '../../gen/ordersystem/order/v1/order_service_pb.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';
import { as, movementsOf, type OrderNode, product, type System, useSystem } from '../support/system.ts';
import { WireProxy } from '../support/wire-proxy.ts';

/** What a suite about intents has at hand. */
export interface PurchaseRig {
  readonly system: System;
  readonly node: OrderNode;
  /** Between the caller and order-svc. */
  readonly wire: WireProxy;
  /** Repeats nothing by itself, so that what is repeated is the intent's doing. */
  readonly client: Client<typeof OrderService>;
  /** What this test's submits told: a state, and the reason of a wait. */
  readonly states: string[];
  /** An intent to buy of a new product that has so much in stock. */
  readonly intentOf: (available: bigint, quantity?: bigint) => Promise<{ intent: PurchaseIntent; productId: bigint }>;
  /** Submits as user 1. */
  readonly submit: (intent: PurchaseIntent, options?: SubmitOptions) => Promise<Order>;
  readonly ordersOf: (intent: PurchaseIntent) => Promise<number>;
  /** The intent is this one order, and has taken one piece once. */
  readonly assertOnce: (intent: PurchaseIntent, productId: bigint, order: Order) => Promise<void>;
}

/** For the suite that calls this. */
export function usePurchases(): PurchaseRig {
  const system = useSystem();
  const rig = { system, states: [] as string[] } as { -readonly [Name in keyof PurchaseRig]: PurchaseRig[Name] };
  before(async () => {
    rig.node = await system.orderNode();
    rig.wire = await WireProxy.to(rig.node.address);
  });
  after(() => rig.wire.close());

  let transport: ReturnType<typeof createGrpcTransport>;
  beforeEach(async () => {
    transport = createGrpcTransport({ target: rig.wire.address });
    rig.client = createClient(OrderService, transport);
    rig.states.length = 0;
    // So that the connection stands: what stalls then is an answer, and not its opening.
    await rig.client.getOrderByClientRequestId({ clientRequestId: 'none' }, as(1));
  });
  afterEach(() => transport.close());

  rig.intentOf = async (available, quantity = 1n) => {
    const productId = await product(system, available);
    return { intent: PurchaseIntent.create([{ productId, quantity }]), productId };
  };
  rig.submit = (intent, options) =>
    intent.submit(rig.client, {
      headers: { 'x-user-id': '1' },
      onProgress: (progress) => void rig.states.push(textOf(progress)),
      ...options,
    });
  rig.ordersOf = ({ clientRequestId }) =>
    system.orderDb.Order.count({ where: { client_request_id: Buffer.from(clientRequestId) } });
  rig.assertOnce = async (intent, productId, order) => {
    assert.equal(order.clientRequestId, intent.clientRequestId);
    assert.equal(await rig.ordersOf(intent), 1);
    assert.deepEqual(await movementsOf(system, productId), ['DEDUCT 1']);
  };
  return rig;
}

/** The same intent in another page, or in another process. */
export function reloaded(intent: PurchaseIntent): PurchaseIntent {
  return PurchaseIntent.fromJSON(JSON.parse(JSON.stringify(intent)));
}

/** The PurchaseError with which a submit fails. */
export async function failureOf(submitted: Promise<unknown>): Promise<PurchaseError> {
  const error = await submitted.then(
    () => assert.fail('there is an order'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof PurchaseError, String(error));
  return error;
}

function textOf(progress: Progress): string {
  return progress.state === 'waiting' ? `waiting ${progress.because.reason}` : progress.state;
}
