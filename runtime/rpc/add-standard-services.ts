import type { DescService } from '@bufbuild/protobuf';
import { Health } from '../../gen/health/v1/health_pb.ts';
import type { Readiness } from '../lifecycle/readiness.ts';
import { healthService } from './health.ts';
import type { GrpcHost } from './host.ts';
import type { HttpDoor } from './http-door.ts';
import { reflectionService, reflectionServices } from './reflection.ts';

/**
 * Adds what every service should have beside its own: health at its gRPC port, and reflection at both unless it is turned off. Nothing
 * stands before them: probes and tools have no identity, are not logged, and have to get through when there is too much to do.
 */
export function addStandardServices(
  { grpc, http }: { grpc: GrpcHost; http?: HttpDoor },
  own: readonly DescService[],
  { readiness, reflection }: { readiness: Readiness; reflection: boolean },
): void {
  grpc.add(Health, healthService(readiness, own), { open: true });
  if (!reflection) return;
  const atGrpc = reflectionService([...own, Health, ...reflectionServices]);
  const atHttp = reflectionService([...own, ...reflectionServices]);
  for (const version of reflectionServices) {
    grpc.add(version, atGrpc, { open: true });
    http?.addStreams(version, atHttp);
  }
}
