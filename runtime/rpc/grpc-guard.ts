import type { ServerHttp2Stream } from 'node:http2';
import type { ConnectError } from '@connectrpc/connect';
import { ServerInterceptingCall, type ServerInterceptor, setLogger, status } from '@grpc/grpc-js';
import { commonError } from './errors.ts';
import { toGrpcStatus } from './status.ts';
import { endStreamAfterwards, takePlace } from './stream-places.ts';

type Status = Parameters<Parameters<ServerInterceptor>[1]['sendStatus']>[0];

const { DEADLINE_EXCEEDED, INTERNAL, RESOURCE_EXHAUSTED, UNIMPLEMENTED } = status;

/**
 * So long the headers alone keep a place for their call: those who send nothing else could have all of them. A request that comes later
 * is let in, or not, when it is there.
 */
const AT_ONCE_MS = 50;

/**
 * What grpc-js leaves open or gets wrong before a handler is called: a request that does not come is not waited for, and what
 * grpc-js itself refuses is an error of the catalogue.
 *
 * @param requestMs milliseconds for a whole request to arrive; of a stream of requests, the first.
 */
export function grpcGuard(requestMs: number): ServerInterceptor {
  return (method, call) => {
    // Private in grpc-js, which has no other way to it.
    const { stream } = call as unknown as { stream: ServerHttp2Stream };
    let timer = setTimeout(() => {
      takePlace(stream)?.();
      timer = setTimeout(
        () => {
          call.sendStatus(toGrpcStatus(commonError('DEADLINE_EXCEEDED', 'the request did not arrive in time')));
        },
        Math.max(0, requestMs - AT_ONCE_MS),
      );
    }, AT_ONCE_MS);
    const arrived = () => clearTimeout(timer);
    const send = call.sendStatus.bind(call);
    call.sendStatus = (status) => {
      arrived();
      endStreamAfterwards(stream);
      const error = refusalIn(status);
      send(error ? toGrpcStatus(error) : status);
    };
    return new ServerInterceptingCall(call, {
      start: (next) =>
        next({
          onReceiveMessage: (message, pass) => {
            if (method.requestStream) arrived();
            pass(message);
          },
          onReceiveHalfClose: (pass) => {
            arrived();
            pass();
          },
          onCancel: arrived,
        }),
    });
  };
}

/** What grpc-js itself has refused, as an error of the catalogue. Handlers' errors have metadata; so they are left alone. */
function refusalIn({ code, details, metadata }: Status): ConnectError | undefined {
  if (metadata) return undefined;
  if (code === INTERNAL && /^Invalid grpc-timeout/.test(details))
    return wrong('grpc-timeout', 'must be up to 8 digits and one of H, M, S, m, u, n');
  if (code === INTERNAL && /decompress/.test(details)) return wrong('grpc-encoding', 'the message is not packed so');
  if (code === UNIMPLEMENTED && /unsupported encoding/.test(details))
    return wrong('grpc-encoding', 'must be identity, gzip or deflate');
  if (code === UNIMPLEMENTED && /^Received (no|a second) request message/.test(details))
    return commonError('INVALID_REQUEST', 'the request must be one whole message');
  if (code === RESOURCE_EXHAUSTED && /^Received message /.test(details))
    return commonError('REQUEST_TOO_LARGE', details.replace(/^Received/, 'received'));
  if (code === DEADLINE_EXCEEDED) return commonError('DEADLINE_EXCEEDED', "the call's deadline passed");
  return undefined;
}

function wrong(field: string, description: string): ConnectError {
  const fieldViolations = [{ field, description }];
  return commonError('INVALID_REQUEST', `${field}: ${description}`, { fieldViolations });
}

/** For the whole process: grpc-js would write a header that it cannot read, a token perhaps, to standard error. */
export function keepHeadersUnlogged(): void {
  const error = (...parts: unknown[]) => {
    if (!String(parts[0]).startsWith('Failed to add metadata entry')) console.error(...parts);
  };
  setLogger({ error });
}
