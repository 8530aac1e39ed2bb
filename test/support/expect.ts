import assert from 'node:assert/strict';
import { ConnectError } from '@connectrpc/connect';
import { reasonOf } from '../../runtime/rpc/errors.ts';

/** Waits for the call to fail for this reason of the catalogue. */
export async function failsWith(call: Promise<unknown>, reason: string): Promise<ConnectError> {
  const error = await call.then(
    () => assert.fail(`expected ${reason}, but the call succeeded`),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof ConnectError, String(error));
  assert.equal(reasonOf(error), reason, String(error));
  return error;
}

/** Waits until a condition holds that something in the background brings about. */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  withinMs = 5000,
  everyMs = 5,
): Promise<void> {
  const end = performance.now() + withinMs;
  while (!(await holds())) {
    assert.ok(performance.now() < end, `${what}: not within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
