import assert from 'node:assert/strict';
import { Code, ConnectError } from '@connectrpc/connect';
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { errorsOf, reasonOf } from '../../../runtime/rpc/errors.ts';
import { everyWay, HttpRig } from './http-rig.ts';
import { failureOf, type StockImpl } from './rig.ts';

const notAnError = 'the secret' as unknown as Error;

describe('an error of an HttpDoor', () => {
  const rig = new HttpRig();
  afterEach(() => rig.close());

  const faults: Record<string, StockImpl['restore']> = {
    'an error that is not a ConnectError': () => {
      throw new Error('the secret');
    },
    'a thrown value that is no error': () => Promise.reject(notAnError),
    'an answer that cannot be encoded': () => ({ items: [{ productId: 2n ** 80n }] }),
    'an answer that is no message': () => ({ items: 'the secret' }) as never,
    'an error whose details cannot be encoded': () => {
      const error = new ConnectError('the secret', Code.Aborted);
      error.details = [{ desc: RetryInfoSchema, value: { retryDelay: { seconds: 2n ** 80n } } }];
      throw error;
    },
    'an error whose metadata cannot be sent at every door': () => {
      throw new ConnectError('the secret', Code.NotFound, { 'x-note': 'ü' });
    },
  };

  for (const way of everyWay) {
    it(`has its details and its metadata: ${way}`, async () => {
      const errorOf = errorsOf({ BUSY: { code: Code.Aborted, retry: 'same_key', retryDelayMs: 1250 } });
      const client = await rig.clientOf(way, {
        restore() {
          const fieldViolations = [{ field: 'order_no', description: 'is in work' }];
          const error = errorOf('BUSY', 'für später', {
            metadata: { order_no: '7' },
            fieldViolations,
            cause: 'secret',
          });
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

    it(`has an unpaired surrogate as what UTF-8 has for it: ${way}`, async () => {
      const client = await rig.clientOf(way, {
        restore() {
          throw new ConnectError('half a \ud83d pair, 100 % \n', Code.NotFound);
        },
      });
      const error = await failureOf(client.restore({}));
      assert.equal(error.code, Code.NotFound);
      assert.equal(error.rawMessage, 'half a \ufffd pair, 100 % \n');
    });

    it(`is INTERNAL, and nothing of its text, when it is a fault: ${way}`, async () => {
      for (const [what, restore] of Object.entries(faults)) {
        const client = await rig.clientOf(way, { restore: restore!, getStock: () => ({}) });
        const error = await failureOf(client.restore({}, { timeoutMs: 2000 }));
        const found = [Code[error.code], error.rawMessage, reasonOf(error)];
        assert.deepEqual(found, ['Internal', 'internal error', 'INTERNAL'], what);
        assert.doesNotMatch(JSON.stringify([...error.metadata, error.details]), /secret/);
        assert.ok(await client.getStock({}));
      }
    });
  }

  it('is seen by the interceptors when an answer cannot be encoded, in JSON alone too', async () => {
    const seen: unknown[] = [];
    const client = await rig.clientOf(
      'Connect JSON over HTTP/1.1',
      { restore: () => ({ items: [{ productId: 2n ** 80n }] }) },
      {
        interceptors: [
          (next) => (request) =>
            next(request).catch((error: unknown) => Promise.reject((seen.push(error), error as Error))),
        ],
      },
    );
    await failureOf(client.restore({}));
    assert.equal(seen.length, 1);
  });
});
