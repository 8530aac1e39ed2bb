import assert from 'node:assert/strict';
import { orderReasons } from '../../order-svc/domain/reasons.ts';
import { stockReasons } from '../../stock-svc/domain/reasons.ts';
import { useSystem } from '../support/system.ts';
import { goodCases } from './answers.ts';
import { BufCurl } from './buf-curl.ts';
import { type Caller, serviceNames, type Targets } from './caller.ts';
import { type Check, goodChecks, refusalChecks } from './checks.ts';
import { methodsOf } from './contract-types.ts';
import { DynamicClient } from './dynamic-client.ts';
import { reflectionChecks } from './every-check.ts';
import { JsonClient } from './json-client.ts';
import { PythonCaller, pythonMissing } from './python-caller.ts';
import { reasons, refusals, unprovoked } from './refusals.ts';
import { runChecks } from './run-checks.ts';
import { World } from './world.ts';

describe('the contract, kept towards callers that know nothing of this code', () => {
  const system = useSystem();
  let targets: Targets;
  let dynamic: DynamicClient;
  let world: World;
  before(async () => {
    const node = await system.orderNode({ HTTP_LISTEN_ADDRESS: '127.0.0.1:0' });
    targets = {
      grpc: { order: node.address, stock: system.stockAddress },
      http: { order: node.httpAddress!, stock: system.stockHttpAddress! },
    };
    dynamic = new DynamicClient(targets);
    world = new World(dynamic, { order: { 'x-user-id': '42' }, stock: {} });
  });
  after(() => dynamic[Symbol.dispose]());

  it('has a check of each RPC', () => {
    for (const service of ['order', 'stock'] as const) {
      const called = goodCases.filter((one) => one.service === service).map(({ method }) => method);
      assert.deepEqual(called.sort(), methodsOf(service).sort(), serviceNames[service]);
    }
  });

  it('has a check of each error of the catalogue, or says why it has none', () => {
    const catalogue = { ...orderReasons, ...stockReasons };
    assert.deepEqual([...Object.keys(reasons), ...Object.keys(unprovoked)].sort(), Object.keys(catalogue).sort());
    for (const [name, [code, retry]] of Object.entries(reasons)) {
      const { code: ours, retry: advice } = catalogue[name as keyof typeof catalogue];
      assert.deepEqual([code, retry], [ours, advice], name);
    }
    for (const reason of Object.keys(reasons))
      assert.ok(
        refusals.some((one) => one.reason === reason),
        reason,
      );
  });

  it('gRPC: every answer and every error, by a grpc-js client made of the .proto files', () =>
    hold(everything(dynamic)));

  it('Connect: every answer and every error, in the JSON of the wire', () => hold(everything(new JsonClient(targets))));

  it('gRPC: every answer and every error, by Python', async function () {
    const missing = pythonMissing();
    if (missing !== undefined) {
      console.log(`      skipped: ${missing}`);
      this.skip();
    }
    this.timeout(60_000);
    await using python = new PythonCaller(targets);
    await hold(everything(python));
  });

  // A process for each call: so each RPC once by each, and errors by one each. `npm run contract` has all of them.
  describe('buf curl', function () {
    this.timeout(120_000);

    for (const protocol of ['grpc', 'grpcweb', 'connect'] as const) {
      it(`${protocol}, by reflection`, async () => {
        const buf = new BufCurl(targets, protocol, 'reflection');
        await hold([...reflectionChecks(buf, targets), ...goodChecks(buf, world), ...someRefusals(buf)]);
      });

      it(`${protocol}, by schema`, async () => {
        const buf = new BufCurl(targets, protocol, 'schema');
        await hold([...goodChecks(buf, world), ...someRefusals(buf)]);
      });
    }
  });

  function everything(caller: Caller): Check[] {
    return [...goodChecks(caller, world), ...refusalChecks(caller, world)];
  }

  /** One with BadRequest. */
  function someRefusals(caller: Caller): Check[] {
    return refusalChecks(
      caller,
      world,
      refusals.filter(({ reason }) => reason === 'PAYMENT_NO_REUSED'),
    );
  }
});

async function hold(checks: readonly Check[]): Promise<void> {
  const broken = [];
  for await (const { name, failure } of runChecks(checks)) {
    if (failure !== undefined) broken.push(`${name}: ${failure}`);
  }
  assert.ok(checks.length > 0);
  assert.deepEqual(broken, []);
}
