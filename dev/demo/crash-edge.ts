import { createClient } from '@connectrpc/connect';
import { StockService } from '../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { GrpcHost } from '../../runtime/rpc/host.ts';
import { createGrpcTransport } from '../../runtime/rpc/transport.ts';

/**
 * Stands between order-svc and stock-svc on a real port, and passes everything on. It can make order-svc die at the worst moment:
 * when its stock has been taken and it does not know yet.
 */
export class CrashEdge {
  address = '';
  readonly #host = new GrpcHost({ interceptors: [], deadline: { defaultMs: 10_000, maxMs: 60_000 } });
  readonly #transport: ReturnType<typeof createGrpcTransport>;
  #insteadOfAnswer: (() => Promise<never>) | undefined;

  constructor(stockAddress: string) {
    this.#transport = createGrpcTransport({ target: stockAddress });
    const stock = createClient(StockService, this.#transport);
    this.#host.add(StockService, {
      deduct: async (request) => {
        const instead = this.#insteadOfAnswer;
        this.#insteadOfAnswer = undefined;
        const answer = await stock.deduct(request);
        return instead ? instead() : answer;
      },
      restore: (request) => stock.restore(request),
    });
  }

  async listen(): Promise<void> {
    this.address = await this.#host.listen('127.0.0.1:0');
  }

  /** The next Deduct is done by stock-svc; in place of its answer `crash` happens. Resolves when that is over. */
  crashAfterDeduct(crash: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#insteadOfAnswer = async () => {
        await crash().then(resolve, reject);
        throw new Error('there is nobody left to answer');
      };
    });
  }

  async close(): Promise<void> {
    await this.#host.stop(0);
    this.#transport.close();
  }
}
