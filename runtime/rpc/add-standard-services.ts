import type { DescService } from '@bufbuild/protobuf';
import { Health } from '../../gen/health/v1/health_pb.ts';
import type { Readiness } from '../lifecycle/readiness.ts';
import { healthService } from './health.ts';
import type { GrpcHost } from './host.ts';
import { reflectionService, reflectionServices } from './reflection.ts';

/**
 * Adds what every gRPC port should have beside its own services: health, and reflection unless it is turned off. Nothing stands before
 * them: probes and tools have no identity, are not logged, and have to get through when there is too much to do.
 */
export function addStandardServices(
  host: GrpcHost,
  own: readonly DescService[],
  { readiness, reflection }: { readiness: Readiness; reflection: boolean },
): void {
  host.add(Health, healthService(readiness, own), { open: true });
  if (!reflection) return;
  const impl = reflectionService([...own, Health, ...reflectionServices]);
  for (const version of reflectionServices) host.add(version, impl, { open: true });
}
