import { on } from 'node:events';
import type { DescService } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { type Health, HealthCheckResponse_ServingStatus as ServingStatus } from '../../gen/health/v1/health_pb.ts';
import type { Readiness } from '../lifecycle/readiness.ts';

/** The service name by which Check and Watch tell that the process answers, ready or not: for liveness probes. */
export const LIVENESS = 'liveness';

/**
 * `grpc.health.v1.Health`: the server (the empty name) and each service are SERVING while the process is ready, `liveness` always.
 * For any other name Check answers NOT_FOUND, and Watch SERVICE_UNKNOWN.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 */
export function healthService(readiness: Readiness, services: readonly DescService[]): ServiceImpl<typeof Health> {
  const names = ['', ...services.map(({ typeName }) => typeName)];

  function statusOf(name: string): ServingStatus {
    if (name === LIVENESS) return ServingStatus.SERVING;
    if (!names.includes(name)) return ServingStatus.SERVICE_UNKNOWN;
    return readiness.problems().length === 0 ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }

  return {
    check({ service }) {
      const status = statusOf(service);
      if (status === ServingStatus.SERVICE_UNKNOWN) throw new ConnectError('unknown service', Code.NotFound);
      return { status };
    },

    async *watch({ service }, { signal }) {
      // From before the first answer: no change is missed.
      const changes = on(readiness, 'change', { signal });
      let status = statusOf(service);
      yield { status };
      while (!(await changes.next()).done) {
        if (statusOf(service) === status) continue;
        status = statusOf(service);
        yield { status };
      }
    },

    list() {
      return { statuses: Object.fromEntries([...names, LIVENESS].map((name) => [name, { status: statusOf(name) }])) };
    },
  };
}
