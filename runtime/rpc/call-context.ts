import type { DescMethodUnary } from '@bufbuild/protobuf';
import { createContextValues, type HandlerContext } from '@connectrpc/connect';
import type { ServerUnaryCall } from '@grpc/grpc-js';
import { CallDeadline } from './call-deadline.ts';
import type { Deadline } from './deadline.ts';
import { toHeaders } from './metadata.ts';

/** Connect's HandlerContext for a call of grpc-js. Headers are made when somebody asks for them: most calls need few. */
export class CallContext implements HandlerContext {
  readonly method: DescMethodUnary;
  readonly protocolName = 'grpc';
  readonly requestMethod = 'POST';
  readonly values = createContextValues();
  readonly #call: ServerUnaryCall<Buffer, Uint8Array>;
  readonly #deadline: CallDeadline;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;

  constructor(call: ServerUnaryCall<Buffer, Uint8Array>, method: DescMethodUnary, deadline: Deadline) {
    this.#call = call;
    this.method = method;
    const askedMs = Number(call.getDeadline()) - Date.now();
    this.#deadline = new CallDeadline(askedMs === Infinity ? undefined : askedMs, deadline);
    call.on('cancelled', () => {
      // grpc-js says this also when the caller's own deadline passes. Timers can be 1 ms early by this clock.
      this.#deadline.callerLeft(Number(call.getDeadline()) <= Date.now() + 1);
    });
  }

  get service() {
    return this.method.parent;
  }

  get url(): string {
    return this.#call.getPath();
  }

  get signal(): AbortSignal {
    return this.#deadline.signal;
  }

  readonly timeoutMs = (): number => this.#deadline.timeoutMs();

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
    this.#deadline.end();
  }
}
