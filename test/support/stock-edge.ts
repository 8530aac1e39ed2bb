import { type Client, ConnectError, createClient, type HandlerContext } from '@connectrpc/connect';
import { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { GrpcHost } from '../../runtime/rpc/host.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';

/** Answers one call in place of stock-svc. `forward` lets the real one do it, and can be called later, twice or never. */
export type Behaviour = (forward: () => Promise<unknown>, context: HandlerContext) => Promise<unknown>;

/**
 * Stands between order-svc and stock-svc on a real port. A call goes through to the real stock-svc unless a behaviour waits for it:
 * each behaviour answers one call.
 */
export class StockEdge {
  readonly deducts: Behaviour[] = [];
  readonly batchDeducts: Behaviour[] = [];
  readonly restores: Behaviour[] = [];
  /** How many calls arrived here. */
  readonly seen = { deducts: 0, restores: 0 };
  /** True: whoever calls gets no answer, as from a machine that is gone. */
  dead = false;
  address = '';
  readonly #host = new GrpcHost({ interceptors: [], deadline: { defaultMs: 10_000, maxMs: 60_000 } });
  readonly #transport: ReturnType<typeof createGrpcTransport>;

  constructor(stockAddress: string) {
    this.#transport = createGrpcTransport({ target: stockAddress });
    const real = createClient(StockService, this.#transport);
    this.#host.add(StockService, {
      deduct: (request, context) => {
        this.seen.deducts++;
        return this.#answer(this.deducts, () => real.deduct(request), context);
      },
      batchDeduct: (request, context) => {
        this.seen.deducts += request.deductions.length;
        return this.#answer(this.batchDeducts, () => real.batchDeduct(request), context);
      },
      restore: (request, context) => {
        this.seen.restores++;
        return this.#answer(this.restores, () => real.restore(request), context);
      },
    });
  }

  async listen(): Promise<this> {
    this.address = await this.#host.listen('127.0.0.1:0');
    return this;
  }

  /** Nobody answers on the port any more. */
  async close(): Promise<void> {
    await this.#host.stop(0);
    this.#transport.close();
  }

  #answer(behaviours: Behaviour[], forward: () => Promise<unknown>, context: HandlerContext): Promise<never> {
    if (this.dead) return untilGivenUp(context);
    return (behaviours.shift()?.(forward, context) ?? forward()) as Promise<never>;
  }
}

/** Behaviour: the work is done and its answer gets lost. */
export const loseAnswer: Behaviour = async (forward, context) => {
  await forward();
  return untilGivenUp(context);
};

/** Behaviour: the request gets lost. */
export const loseRequest: Behaviour = (_forward, context) => untilGivenUp(context);

/** Rejects when the caller has given the call up. */
export function untilGivenUp({ signal }: HandlerContext): Promise<never> {
  return new Promise((_resolve, reject) => {
    const giveUp = () => reject(ConnectError.from(signal.reason));
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp);
  });
}

export type StockClient = Client<typeof StockService>;
