import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { Code, createContextKey, createContextValues, type Interceptor } from '@connectrpc/connect';
import { failureOf, Rig, until } from './rig.ts';

describe('createGrpcTransport', () => {
  const rig = new Rig();
  afterEach(() => rig.close());

  it('carries headers and trailers both ways, binary ones and several of one name too', async () => {
    const client = await rig.clientOf({
      restore(_request, { requestHeader, responseHeader, responseTrailer }) {
        requestHeader.forEach((value, name) => name.startsWith('x-') && responseHeader.set(`seen-${name}`, value));
        responseTrailer.append('x-twice', 'a');
        responseTrailer.append('x-twice', 'b');
        responseTrailer.append('x-more-bin', 'AQ==');
        responseTrailer.append('x-more-bin', 'AgM=');
        return {};
      },
    });
    const seen: Record<string, string | null> = {};
    await client.restore(
      {},
      {
        headers: { 'x-note': 'a, b', 'x-raw-bin': Buffer.from('ü\0').toString('base64'), 'x-empty': '' },
        onHeader: (header) => header.forEach((value, name) => name.startsWith('seen-') && (seen[name] = value)),
        onTrailer: (trailer) => {
          seen['twice'] = trailer.get('x-twice');
          seen['more'] = trailer.get('x-more-bin');
        },
      },
    );
    assert.equal(Buffer.from(seen['seen-x-raw-bin'] ?? '', 'base64').toString(), 'ü\0');
    delete seen['seen-x-raw-bin'];
    assert.deepEqual(seen, { 'seen-x-note': 'a, b', 'seen-x-empty': '', twice: 'a, b', more: 'AQ, AgM' });
  });

  it('fails with UNAVAILABLE when nobody listens, and works again when somebody does', async () => {
    const first = await rig.serve({ restore: () => ({}) });
    const client = rig.client(first.address);
    await client.restore({});
    await first.host.stop(0);
    assert.equal((await failureOf(client.restore({}))).code, Code.Unavailable);
    await rig.serve({ restore: () => ({ replayed: true }) }, {}, first.address);
    const answers = () =>
      client.restore({}).then(
        ({ replayed }) => replayed,
        () => false,
      );
    await until(answers);
  });

  it('uses all addresses of its target in turn', async () => {
    const used = [0, 0];
    const servers = await Promise.all(
      used.map((_, i) => rig.serve({ restore: () => (used[i]!++, {}) }).then(({ address }) => address)),
    );
    const client = rig.client(`ipv4:${servers.join(',')}`);
    // The first connection carries all calls until the second one stands.
    await until(async () => (await client.restore({}), used.every((calls) => calls > 0)));
    used.fill(0);
    for (let i = 0; i < 10; i++) await client.restore({});
    assert.deepEqual(used, [5, 5]);
  });

  it('gives the call up at its deadline though the server says nothing', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    const client = await rig.clientOf({ restore: () => promise });
    const error = await failureOf(client.restore({}, { timeoutMs: 30 }));
    assert.equal(error.code, Code.DeadlineExceeded);
    resolve({});
  });

  it('does not send a call whose signal is aborted already', async () => {
    let calls = 0;
    const client = await rig.clientOf({ restore: () => (calls++, {}), getStock: () => ({}) });
    const error = await failureOf(client.restore({}, { signal: AbortSignal.abort() }));
    assert.equal(error.code, Code.Canceled);
    await client.getStock({});
    assert.equal(calls, 0);
  });

  it('leaves nothing behind on a signal that outlives its calls', async () => {
    const client = await rig.clientOf({ restore: () => ({}) });
    const { signal } = new AbortController();
    await client.restore({}, { signal });
    await failureOf(client.deduct({}, { signal }));
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it('runs its interceptors around the call, with the context of the caller', async () => {
    const key = createContextKey('nothing');
    const seen: string[] = [];
    const named = (name: string): Interceptor => {
      return (next) => (request) => {
        seen.push(`${name}: ${request.method.name}, ${request.contextValues.get(key)}`);
        request.header.append('x-seen', name);
        return next(request);
      };
    };
    const { address } = await rig.serve({
      restore: (_request, { requestHeader }) => (seen.push(requestHeader.get('x-seen')!), {}),
    });
    const client = rig.client(address, { interceptors: [named('outer'), named('inner')] });
    await client.restore({}, { contextValues: createContextValues().set(key, 'mine') });
    assert.deepEqual(seen, ['outer: Restore, mine', 'inner: Restore, mine', 'outer, inner']);
  });
});
