import type { Interceptor } from '@connectrpc/connect';
import type { Readiness } from '../lifecycle/readiness.ts';
import { commonError } from './errors.ts';

/** Server interceptor: no call before what calls need is there. The port is open from the beginning, for health. */
export function startGate(readiness: Pick<Readiness, 'started'>): Interceptor {
  return (next) => (request) => {
    if (!readiness.started) throw commonError('SERVICE_UNAVAILABLE', 'the service is starting');
    return next(request);
  };
}
