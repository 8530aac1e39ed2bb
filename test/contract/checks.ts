import assert from 'node:assert/strict';
import { type GoodCase, goodCases } from './answers.ts';
import type { Answer, Caller, Detail, Json, Targets } from './caller.ts';
import { reasons, type RefusalCase, refusals, type Refused } from './refusals.ts';
import type { World } from './world.ts';

/** One row of the table. */
export interface Check {
  readonly name: string;
  /** By whom. */
  readonly caller: string;
  /** Rejects with what is wrong. */
  readonly run: () => Promise<void>;
}

/** Tells which checks a deployment allows: without stock-svc there is nothing to buy. */
export function possible({ grpc }: Pick<Targets, 'grpc'>): (one: GoodCase | RefusalCase) => boolean {
  return (one) => grpc.stock !== undefined || ('stock' in one && !one.stock);
}

export function goodChecks(caller: Caller, world: World, cases: readonly GoodCase[] = goodCases): Check[] {
  return cases.map((one) => ({
    name: `${one.method} ${one.title}`,
    caller: caller.name,
    run: () =>
      tidily(world, async () => {
        const { request, answer } = await one.prepare(world);
        const got = await ask(caller, world, one, request);
        assert.ok('response' in got, `failed: ${JSON.stringify(got)}`);
        matches(got.response, answer, 'answer');
      }),
  }));
}

export function refusalChecks(caller: Caller, world: World, cases: readonly RefusalCase[] = refusals): Check[] {
  return cases
    .filter((one) => one.timeoutMs === undefined || caller.sendsDeadline)
    .map((one) => ({
      name: `${one.method} ${one.reason}: ${one.title}`,
      caller: caller.name,
      run: () =>
        tidily(world, async () => {
          const expected = await one.prepare(world);
          const got = await ask(caller, world, one, expected.request);
          assert.ok('error' in got, `was not refused: ${JSON.stringify(got)}`);
          assert.equal(got.error.code, reasons[one.reason][0], 'the code');
          assert.deepEqual(sayings(got.error.details), detailsOf(one, expected));
        }),
    }));
}

async function tidily(world: World, check: () => Promise<void>): Promise<void> {
  await using tidy = new AsyncDisposableStack();
  tidy.defer(() => world.giveBack());
  await check();
}

function ask(caller: Caller, world: World, one: GoodCase | RefusalCase, request: Json): Promise<Answer> {
  const { service, method } = one;
  const headers = 'anonymous' in one && one.anonymous ? {} : world.headers[service];
  return caller.call({ service, method, request, headers, timeoutMs: 'timeoutMs' in one ? one.timeoutMs : undefined });
}

function detailsOf({ reason }: RefusalCase, { metadata, fields }: Refused): Json[] {
  const [, retry] = reasons[reason];
  return [
    { type: 'google.rpc.ErrorInfo', reason, domain: 'ordersystem', metadata: { ...metadata, retry } },
    ...(fields ? [{ type: 'google.rpc.BadRequest', fields: [...fields].sort() }] : []),
  ];
}

/** The details without the sentences that are for people. */
function sayings(details: readonly Detail[]): Json[] {
  return details.map(({ type, value }) => {
    if (type !== 'google.rpc.BadRequest') return { type, ...value };
    const violations = (value['fieldViolations'] ?? []) as { field: string; description: string }[];
    for (const { field, description } of violations) assert.ok(description, `nothing is said about ${field}`);
    return { type, fields: violations.map(({ field }) => field).sort() };
  });
}

/** Deep equality, with patterns where the expected value has them. No field more, none less. */
function matches(got: unknown, expected: unknown, path: string): void {
  if (expected instanceof RegExp) {
    assert.ok(typeof got === 'string' && expected.test(got), `${path} is ${JSON.stringify(got)}, not ${expected}`);
  } else if (typeof expected === 'object' && expected !== null && typeof got === 'object' && got !== null) {
    assert.equal(Array.isArray(got), Array.isArray(expected), path);
    assert.deepEqual(Object.keys(got).sort(), Object.keys(expected).sort(), `the fields of ${path}`);
    for (const [name, value] of Object.entries(expected)) matches((got as Json)[name], value, `${path}.${name}`);
  } else {
    assert.deepEqual(got, expected, path);
  }
}
