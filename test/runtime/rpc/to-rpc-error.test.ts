import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import { DatabaseError } from 'sequelize';
import { commonError, reasonOf } from '../../../runtime/rpc/errors.ts';
import { toRpcError } from '../../../runtime/rpc/to-rpc-error.ts';

describe('toRpcError', () => {
  const open = new AbortController().signal;

  it('lets an error of the catalogue through as it is, even when the call was given up', () => {
    const error = commonError('INVALID_REQUEST', 'wrong');
    assert.equal(toRpcError(error, open), error);
    assert.equal(toRpcError(error, AbortSignal.abort()), error);
  });

  it('makes an error that may be sent of anything that is thrown', () => {
    const fault = new DatabaseError(Object.assign(new Error('no such table'), { sql: '' }));
    for (const reason of [undefined, null, 'text', 7, {}, fault, new ConnectError('x', Code.Aborted)]) {
      const error = toRpcError(reason, open);
      assert.deepEqual([error.rawMessage, reasonOf(error), error.cause], ['internal error', 'INTERNAL', reason]);
    }
  });
});
