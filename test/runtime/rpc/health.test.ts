import assert from 'node:assert/strict';
import { Code, type ConnectError, createClient } from '@connectrpc/connect';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
  HealthCheckResponse_ServingStatusSchema as StatusSchema,
} from '../../../gen/health/v1/health_pb.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { Readiness } from '../../../runtime/lifecycle/readiness.ts';
import { addStandardServices } from '../../../runtime/rpc/add-standard-services.ts';
import { failureOf, Rig } from './rig.ts';

describe('grpc.health.v1.Health', () => {
  const rig = new Rig();
  let up: boolean;
  let readiness: Readiness;
  beforeEach(() => (up = true));
  afterEach(() => rig.close());

  async function serve() {
    readiness = new Readiness({ checks: { off: () => up }, intervalMs: 600_000, logger: silentLogger });
    const { host, address } = await rig.serve({ restore: () => ({}) });
    addStandardServices({ grpc: host }, [StockService], { readiness, reflection: false });
    return { host, client: createClient(Health, rig.foreignTransport(address)) };
  }

  async function become(value: boolean): Promise<void> {
    up = value;
    await readiness.runOnce();
  }

  it('answers for the server and for each service as readiness says, and for liveness always', async () => {
    const { client } = await serve();
    const statuses = () =>
      Promise.all(
        ['', StockService.typeName, 'liveness'].map(async (service) =>
          nameOf((await client.check({ service })).status),
        ),
      );
    const [ready, unready] = [
      ['SERVING', 'SERVING', 'SERVING'],
      ['NOT_SERVING', 'NOT_SERVING', 'SERVING'],
    ];
    assert.deepEqual(await statuses(), unready, 'not started');
    await become(true);
    assert.deepEqual(await statuses(), ready);
    await become(false);
    assert.deepEqual(await statuses(), unready);
    await become(true);
    assert.deepEqual(await statuses(), ready);
    await readiness.drain(0);
    assert.deepEqual(await statuses(), unready, 'draining');
  });

  it('does not know any other service', async () => {
    const { client } = await serve();
    assert.equal((await failureOf(client.check({ service: 'StockService' }))).code, Code.NotFound);
    for await (const { status } of client.watch({ service: 'StockService' })) {
      assert.equal(status, Status.SERVICE_UNKNOWN);
      break;
    }
  });

  it('lists what it knows', async () => {
    const { client } = await serve();
    const { statuses } = await client.list({});
    assert.deepEqual(
      Object.entries(statuses).map(([name, { status }]) => [name, nameOf(status)]),
      [
        ['', 'NOT_SERVING'],
        [StockService.typeName, 'NOT_SERVING'],
        ['liveness', 'SERVING'],
      ],
    );
  });

  it('tells many who watch of each change, and of the end: not ready first, then UNAVAILABLE, long before the grace', async () => {
    const { host, client } = await serve();
    await become(true);
    const names = ['', StockService.typeName, 'liveness', ...Array<string>(30).fill('')];
    const seen = names.map((): string[] => []);
    const first = names.map(() => Promise.withResolvers<void>());
    const ends = names.map(async (service, i) => {
      const controller = new AbortController();
      for await (const { status } of client.watch({ service }, { signal: controller.signal })) {
        seen[i]!.push(nameOf(status));
        first[i]!.resolve();
      }
    });
    const failures = ends.map(failureOf);
    await Promise.all(first.map(({ promise }) => promise));
    await become(false);
    await become(true);
    await readiness.drain(0);
    const startMs = performance.now();
    await host.stop(60_000);
    assert.ok(performance.now() - startMs < 5000);
    for (const [i, failure] of failures.entries()) {
      const { code }: ConnectError = await failure;
      assert.equal(code, Code.Unavailable);
      const changes = names[i] === 'liveness' ? ['SERVING'] : ['SERVING', 'NOT_SERVING', 'SERVING', 'NOT_SERVING'];
      assert.deepEqual(seen[i], changes);
    }
    assert.equal(readiness.listenerCount('change'), 0);
  });

  it('lets go of a caller who watches no more', async () => {
    const { host, client } = await serve();
    for await (const { status } of client.watch({})) {
      assert.deepEqual([nameOf(status), readiness.listenerCount('change')], ['NOT_SERVING', 1]);
      break;
    }
    await host.stop(1000);
    assert.equal(readiness.listenerCount('change'), 0);
  });
});

function nameOf(status: Status): string {
  return StatusSchema.value[status]!.name;
}
