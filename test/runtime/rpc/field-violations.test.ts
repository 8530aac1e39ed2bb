import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { reasonOf } from '../../../runtime/rpc/errors.ts';
import { FieldViolations } from '../../../runtime/rpc/field-violations.ts';

/** The error that is thrown after `note`; undefined when none is. */
function errorAfter(note: (violations: FieldViolations) => void): ConnectError | undefined {
  const violations = new FieldViolations();
  note(violations);
  try {
    violations.throwIfAny();
  } catch (error) {
    assert.ok(error instanceof ConnectError);
    return error;
  }
  return undefined;
}

/** What is noted of each field. */
function noted(note: (violations: FieldViolations) => void): string[] {
  const [badRequest] = errorAfter(note)?.findDetails(BadRequestSchema) ?? [];
  return badRequest?.fieldViolations.map(({ field, description }) => `${field} ${description}`) ?? [];
}

describe('FieldViolations', () => {
  it('throws nothing when nothing was noted', () => {
    assert.equal(
      errorAfter(() => {}),
      undefined,
    );
  });

  it('throws one INVALID_REQUEST that names every wrong field, in order', () => {
    const note = (violations: FieldViolations) => {
      violations.add('order_no', 'is missing');
      violations.add('items[2].quantity', 'is too large');
      violations.add('items', 'are too many');
    };
    const error = errorAfter(note)!;
    assert.deepEqual([error.code, reasonOf(error)], [Code.InvalidArgument, 'INVALID_REQUEST']);
    assert.equal(error.rawMessage, 'order_no: is missing (and 2 more)');
    assert.deepEqual(noted(note), ['order_no is missing', 'items[2].quantity is too large', 'items are too many']);
  });

  it('counts no more when there is one', () => {
    assert.equal(errorAfter((violations) => violations.add('a', 'is wrong'))?.rawMessage, 'a: is wrong');
  });

  it('range takes both ends and nothing beyond', () => {
    const outside = [-(2n ** 63n), 0n, 1n, 5n, 6n, 2n ** 63n - 1n].flatMap((value) =>
      noted((violations) => violations.range('n', value, 1n, 5n)),
    );
    assert.deepEqual(outside, [
      'n must be 1 to 5, was -9223372036854775808',
      'n must be 1 to 5, was 0',
      'n must be 1 to 5, was 6',
      'n must be 1 to 5, was 9223372036854775807',
    ]);
  });

  it('count takes both ends, and says whether the list is short enough to look at', () => {
    const short: boolean[] = [];
    const outside = [0, 1, 3, 4].flatMap((length) =>
      noted((violations) => short.push(violations.count('list', Array.from({ length }), 1, 3))),
    );
    assert.deepEqual(outside, ['list must have 1 to 3 entries, had 0', 'list must have 1 to 3 entries, had 4']);
    // noted() looks at each list once.
    assert.deepEqual(short, [true, true, true, false]);
  });

  it('match notes the rule and does not repeat the text', () => {
    const rule = 'must be digits';
    assert.deepEqual(
      ['12', 'secret', ''].flatMap((text) => noted((violations) => violations.match('n', text, /^\d+$/, rule))),
      ['n must be digits', 'n must be digits'],
    );
  });
});
