import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { errorsOf, reasonOf } from '../../../runtime/rpc/errors.ts';
import { failureOf, Rig, type StockImpl } from './rig.ts';

const notAnError = 'the secret' as unknown as Error;

describe('an error of a GrpcHost', () => {
  const rig = new Rig();
  afterEach(() => rig.close());

  it('sends an error with its details and its metadata', async () => {
    const errorOf = errorsOf({ BUSY: { code: Code.Aborted, retry: 'same_key', retryDelayMs: 1250 } });
    const client = await rig.clientOf({
      restore() {
        const fieldViolations = [{ field: 'order_no', description: 'is in work' }];
        const error = errorOf('BUSY', 'für später', { metadata: { order_no: '7' }, fieldViolations, cause: 'secret' });
        error.metadata.set('x-shard', '3');
        throw error;
      },
    });
    const error = await failureOf(client.restore({}));
    assert.equal(error.code, Code.Aborted);
    assert.equal(error.rawMessage, 'für später');
    assert.equal(error.metadata.get('x-shard'), '3');
    const [info] = error.findDetails(ErrorInfoSchema);
    assert.deepEqual([info?.reason, info?.domain], ['BUSY', 'ordersystem']);
    assert.deepEqual({ ...info?.metadata }, { order_no: '7', retry: 'same_key' });
    assert.equal(error.findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field, 'order_no');
    const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
    assert.deepEqual([delay?.seconds, delay?.nanos], [1n, 250_000_000]);
  });

  it('sends an unpaired surrogate in a message as what UTF-8 has for it', async () => {
    const client = await rig.clientOf({
      restore() {
        throw new ConnectError('half a \ud83d pair, 100 % \n', Code.NotFound);
      },
    });
    const error = await failureOf(client.restore({}));
    assert.equal(error.code, Code.NotFound);
    assert.equal(error.rawMessage, 'half a \ufffd pair, 100 % \n');
  });

  const faults: Record<string, StockImpl['restore']> = {
    'an error that is not a ConnectError': () => {
      throw new Error('the secret');
    },
    'a thrown value that is no error': () => Promise.reject(notAnError),
    'an answer that cannot be encoded': () => ({ items: [{ productId: 2n ** 80n }] }),
    'an answer that is no message': () => ({ items: 'the secret' }) as never,
    'a header that cannot be sent': (_request, context) => {
      context.responseHeader.set('x-note', 'the secret ü');
      return {};
    },
    'an error whose metadata cannot be sent': () => {
      throw new ConnectError('the secret', Code.NotFound, { 'x-note': 'ü' });
    },
  };
  for (const [what, restore] of Object.entries(faults)) {
    it(`masks ${what} as INTERNAL`, async () => {
      const client = await rig.clientOf({ restore: restore!, getStock: () => ({}) });
      const error = await failureOf(client.restore({}, { timeoutMs: 2000 }));
      assert.deepEqual(
        [Code[error.code], error.rawMessage, reasonOf(error)],
        ['Internal', 'internal error', 'INTERNAL'],
      );
      assert.doesNotMatch(JSON.stringify([...error.metadata]), /secret/);
      assert.ok(await client.getStock({}));
    });
  }
});
