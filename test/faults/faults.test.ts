import assert from 'node:assert/strict';
import { serverUrl } from '../support/setup.ts';
import { crashes } from './crash.ts';
import { seeded } from './random.ts';
import { runKind } from './run-kind.ts';

/** Where a crash leaves most behind. `npm run faults` has all the others. */
const STEPS = ['end of claim', 'end of deduct', 'end of persist', 'end of cancel'];

describe('the promise under load', function () {
  this.timeout(120_000);
  const cases = crashes.cases.filter(
    ({ name, quick }) => quick && name.startsWith('order-svc') && STEPS.some((step) => name.endsWith(step)),
  );

  it(`holds when a process dies at the ${STEPS.join(', ')}, and again while it recovers`, async () => {
    assert.equal(cases.length, STEPS.length);
    const seed = Number(process.env['FAULTS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
    const lines = [`seed ${seed}`];
    await using cleanup = new AsyncDisposableStack();
    const print = (line: string) => void lines.push(line);
    const result = await runKind({ ...crashes, cases }, seeded(seed), { cleanup, print }, serverUrl());
    assert.equal(result.violations, 0, lines.join('\n'));
    assert.ok(result.orders > 0);
  });
});
