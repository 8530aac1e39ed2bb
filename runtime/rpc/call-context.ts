import type { DescMethodUnary } from '@bufbuild/protobuf';
import { Code, ConnectError, createContextValues, type HandlerContext } from '@connectrpc/connect';
import type { ServerUnaryCall } from '@grpc/grpc-js';
import type { Deadline } from './deadline.ts';
import { toHeaders } from './metadata.ts';

const TIMED_OUT = new ConnectError('the operation timed out', Code.DeadlineExceeded);
const HUNG_UP = new ConnectError('the caller hung up', Code.Canceled);
const OVER = new ConnectError('the call is over', Code.Canceled);

/** Connect's HandlerContext for a call of grpc-js. Headers are made when somebody asks for them: most calls need few. */
export class CallContext implements HandlerContext {
  readonly method: DescMethodUnary;
  readonly protocolName = 'grpc';
  readonly requestMethod = 'POST';
  readonly values = createContextValues();
  readonly #call: ServerUnaryCall<Buffer, Uint8Array>;
  readonly #controller = new AbortController();
  readonly #endMs: number;
  readonly #timer: NodeJS.Timeout;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;

  constructor(call: ServerUnaryCall<Buffer, Uint8Array>, method: DescMethodUnary, deadline: Deadline) {
    this.#call = call;
    this.method = method;
    const now = Date.now();
    const askedMs = Number(call.getDeadline()) - now;
    const timeoutMs = askedMs === Infinity ? deadline.defaultMs : Math.min(askedMs, deadline.maxMs);
    this.#endMs = now + timeoutMs;
    this.#timer = setTimeout(() => this.#controller.abort(TIMED_OUT), Math.max(0, timeoutMs));
    if (timeoutMs <= 0) this.#controller.abort(TIMED_OUT);
    call.on('cancelled', () => {
      // grpc-js says this also when the caller's own deadline passes. Timers can be 1 ms early by this clock.
      const passed = Number(call.getDeadline()) <= Date.now() + 1;
      this.#controller.abort(passed ? TIMED_OUT : HUNG_UP);
    });
  }

  get service() {
    return this.method.parent;
  }

  get url(): string {
    return this.#call.getPath();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  readonly timeoutMs = (): number => this.#endMs - Date.now();

  get requestHeader(): Headers {
    return (this.#requestHeader ??= toHeaders(this.#call.metadata));
  }

  get responseHeader(): Headers {
    return (this.#responseHeader ??= new Headers());
  }

  get responseTrailer(): Headers {
    return (this.#responseTrailer ??= new Headers());
  }

  /** The call is over: ends its timer, and tells whoever still looks at the signal. */
  end(): void {
    clearTimeout(this.#timer);
    this.#controller.abort(OVER);
  }
}
