import assert from 'node:assert/strict';
import type { Interceptor, UnaryRequest, UnaryResponse } from '@connectrpc/connect';
import { chain } from '../../../runtime/rpc/interceptors.ts';

const answer = { message: {} } as UnaryResponse;

describe('chain', () => {
  it('is the call itself when there are no interceptors', async () => {
    assert.equal(await chain([], () => Promise.resolve(answer))({} as UnaryRequest), answer);
  });

  it('goes through the interceptors from the first to the last, and back', async () => {
    const order: number[] = [];
    const numbered = (number: number): Interceptor => {
      return (next) => async (request) => {
        order.push(number);
        const response = await next(request);
        order.push(-number);
        return response;
      };
    };
    const call = chain([1, 2, 3].map(numbered), () => (order.push(0), Promise.resolve(answer)));
    await call({} as UnaryRequest);
    assert.deepEqual(order, [1, 2, 3, 0, -3, -2, -1]);
  });

  it('lets an interceptor answer in place of the call', async () => {
    const refuse: Interceptor = () => () => Promise.reject(new Error('refused'));
    await assert.rejects(chain([refuse], () => assert.fail('called'))({} as UnaryRequest), /refused/);
  });
});
