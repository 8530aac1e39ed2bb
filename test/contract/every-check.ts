import assert from 'node:assert/strict';
import { goodCases } from './answers.ts';
import { BufCurl } from './buf-curl.ts';
import { type Caller, type Service, serviceNames, type Targets } from './caller.ts';
import { type Check, goodChecks, possible, refusalChecks } from './checks.ts';
import { methodsOf } from './contract-types.ts';
import { DynamicClient } from './dynamic-client.ts';
import { JsonClient } from './json-client.ts';
import { PythonCaller, pythonMissing } from './python-caller.ts';
import { refusals } from './refusals.ts';
import { World } from './world.ts';

/** Every case by every caller, and what has to be left out of it, with why. */
export function everyCheck(
  targets: Targets,
  headers: World['headers'],
  cleanup: AsyncDisposableStack,
): { checks: Check[]; skipped: string[] } {
  const skipped: string[] = [];
  const dynamic = cleanup.use(new DynamicClient(targets));
  const world = new World(dynamic, headers);
  const bufs = (['grpc', 'grpcweb', 'connect'] as const).map((protocol) => ({
    byReflection: new BufCurl(targets, protocol, 'reflection'),
    bySchema: new BufCurl(targets, protocol, 'schema'),
  }));
  const callers: Caller[] = [
    dynamic,
    new JsonClient(targets),
    ...bufs.flatMap(({ byReflection, bySchema }) => [byReflection, bySchema]),
  ];
  const missing = pythonMissing();
  if (missing === undefined) callers.push(cleanup.use(new PythonCaller(targets)));
  else skipped.push(`the Python caller: ${missing}`);
  if (!targets.grpc.stock) skipped.push('what needs products: no --stock-target to make them at');
  for (const service of ['order', 'stock'] as const) {
    if (targets.grpc[service] && !targets.http[service]) {
      skipped.push(`Connect and gRPC-Web of ${service}-svc: no HTTP target`);
    }
  }

  const checks = callers.flatMap((caller) => {
    const here = <C extends { service: Service }>(one: C) => targets[caller.port][one.service] !== undefined;
    return [
      ...goodChecks(caller, world, goodCases.filter(possible(targets)).filter(here)),
      ...refusalChecks(caller, world, refusals.filter(possible(targets)).filter(here)),
    ];
  });
  const reflections = bufs.flatMap(({ byReflection }) => reflectionChecks(byReflection, targets));
  return { checks: [...reflections, ...checks], skipped };
}

/** The server has every RPC of its contract, and says so. */
export function reflectionChecks(buf: BufCurl, targets: Targets): Check[] {
  const services = (['order', 'stock'] as const).filter((service) => targets[buf.port][service] !== undefined);
  return services.map((service) => ({
    name: `reflection has every RPC of ${serviceNames[service]}`,
    caller: buf.name,
    async run() {
      const listed = await buf.listMethods(service);
      const expected = methodsOf(service).map((method) => `${serviceNames[service]}/${method}`);
      assert.deepEqual(listed.filter((one) => one.startsWith(serviceNames[service])).sort(), expected.sort());
    },
  }));
}
