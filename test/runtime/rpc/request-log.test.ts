import assert from 'node:assert/strict';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { pino } from 'pino';
import { ConnectionRefusedError } from 'sequelize';
import { RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { StockService } from '../../../gen/ordersystem/stock/v1/stock_service_pb.ts';
import { callLogOf, silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { commonError, reasonOf } from '../../../runtime/rpc/errors.ts';
import { Bound } from '../../../runtime/rpc/overload.ts';
import { requestLog } from '../../../runtime/rpc/request-log.ts';
import { failureOf, Rig, sendBytes, type StockImpl } from './rig.ts';

describe('requestLog', () => {
  const rig = new Rig();
  let lines: Record<string, unknown>[];
  beforeEach(() => (lines = []));
  afterEach(() => rig.close());

  /** A host whose only interceptor is the log. Returns its address. */
  async function serve(impl: StockImpl, deadline = { defaultMs: 5000, maxMs: 5000 }): Promise<string> {
    const stream = { write: (text: string) => void lines.push(JSON.parse(text) as Record<string, unknown>) };
    const logger = pino({ messageKey: 'message', base: null, formatters: { level: (level) => ({ level }) } }, stream);
    const { address } = await rig.serve(impl, { interceptors: [requestLog(logger)], deadline });
    return address;
  }

  async function clientOf(...parameters: Parameters<typeof serve>) {
    return createClient(StockService, rig.transport(await serve(...parameters)));
  }

  /** The only line, without what differs from run to run. */
  function line(): Record<string, unknown> {
    assert.equal(lines.length, 1);
    const { duration_ms: durationMs, time, err, ...rest } = lines[0]!;
    assert.ok(Number.isInteger(durationMs) && (durationMs as number) >= 0);
    assert.equal(typeof time, 'number');
    return { ...rest, ...(err === undefined ? {} : { err: (err as Error).message }) };
  }

  it('writes one line for a call that was served', async () => {
    await (await clientOf({ restore: () => ({}) })).restore({});
    assert.deepEqual(line(), { level: 'info', rpc: 'Restore', code: 'OK', message: 'served' });
  });

  it('says which attempt it is when it is not the first', async () => {
    const client = await clientOf({ restore: () => ({}) });
    for (const before of ['0', '1', '3', '-1', 'many', '99999']) {
      await client.restore({}, { headers: { 'grpc-previous-rpc-attempts': before } });
    }
    assert.deepEqual(
      lines.map((one) => one['attempt']),
      [undefined, 2, 4, undefined, undefined, undefined],
    );
  });

  it('leaves it to the bound to count what was refused there', async () => {
    const bound = new Bound('handlers', 0, silentLogger);
    const client = await clientOf({ restore: () => (bound.enter(), {}) });
    assert.equal(reasonOf(await failureOf(client.restore({}))), 'OVERLOADED');
    assert.deepEqual(lines, []);
  });

  it('writes one line for a call that was refused, without a stack', async () => {
    const client = await clientOf({
      restore() {
        throw commonError('INVALID_REQUEST', 'order_no: is missing', { cause: new Error('why') });
      },
    });
    assert.equal(reasonOf(await failureOf(client.restore({}))), 'INVALID_REQUEST');
    const reason = { code: 'InvalidArgument', reason: 'INVALID_REQUEST', message: 'order_no: is missing' };
    assert.deepEqual(line(), { level: 'info', rpc: 'Restore', ...reason });
  });

  it('writes one line for bytes that are no message', async () => {
    const address = await serve({ restore: () => assert.fail('called') });
    await sendBytes(address, `/${StockService.typeName}/Restore`, Buffer.from([0x0a, 0x7f, 0x01]));
    const message = 'the bytes sent are not a ordersystem.stock.v1.RestoreRequest';
    assert.deepEqual(line(), {
      level: 'info',
      rpc: 'Restore',
      code: 'InvalidArgument',
      reason: 'INVALID_REQUEST',
      message,
    });
  });

  const faults = {
    'an unknown error': new Error('the secret'),
    "a ConnectError that is not of the catalogue, such as another service's": new ConnectError(
      'the secret',
      Code.NotFound,
    ),
  };
  for (const [what, fault] of Object.entries(faults)) {
    it(`logs ${what} as an error with its cause, and lets nothing of it out`, async () => {
      const client = await clientOf({ restore: () => Promise.reject(fault) });
      const error = await failureOf(client.restore({}));
      assert.deepEqual(
        [Code[error.code], error.rawMessage, reasonOf(error)],
        ['Internal', 'internal error', 'INTERNAL'],
      );
      assert.doesNotMatch(JSON.stringify([...error.metadata]), /secret/);
      const reason = { code: 'Internal', reason: 'INTERNAL', message: 'internal error', err: fault.message };
      assert.deepEqual(line(), { level: 'error', rpc: 'Restore', ...reason });
      assert.match(String((lines[0]!['err'] as Error).stack), /request-log\.test\.ts/);
    });
  }

  it('says UNAVAILABLE when the database is away, and logs why', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:3306'), { code: 'ECONNREFUSED' });
    const client = await clientOf({ restore: () => Promise.reject(new ConnectionRefusedError(cause)) });
    const error = await failureOf(client.restore({}));
    assert.deepEqual([Code[error.code], reasonOf(error)], ['Unavailable', 'SERVICE_UNAVAILABLE']);
    assert.equal(error.rawMessage, 'the database is not available');
    assert.equal(error.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds, 1n);
    assert.deepEqual([line()['level'], line()['err']], ['error', 'connect ECONNREFUSED 10.0.0.7:3306']);
  });

  it('puts what a call binds on its line, and on no other', async () => {
    const client = await clientOf({
      restore({ orderNo }, context) {
        callLogOf(context).bind({ order_no: orderNo });
        callLogOf(context).info({}, 'half way');
        callLogOf(context).bind({ items: 2 });
        return {};
      },
    });
    await client.restore({ orderNo: '7' });
    await client.restore({ orderNo: '8' });
    assert.deepEqual(
      lines.map(({ message, rpc, order_no: orderNo, items }) => [message, rpc, orderNo, items]),
      [
        ['half way', 'Restore', '7', undefined],
        ['served', 'Restore', '7', 2],
        ['half way', 'Restore', '8', undefined],
        ['served', 'Restore', '8', 2],
      ],
    );
  });

  it('writes nothing of the headers, the request or the answer', async () => {
    const client = await clientOf({
      getStock: () => ({ stocks: [{ title: 'secret title' }] }),
      deduct: () => Promise.reject(new Error('a fault')),
    });
    const options = { headers: { authorization: 'Bearer secret', 'x-user-id': 'secret' } };
    await client.getStock({}, options);
    await failureOf(client.deduct({ orderNo: 'secret' }, options));
    assert.equal(lines.length, 2);
    assert.doesNotMatch(JSON.stringify(lines), /secret/);
  });

  const patient: StockImpl['restore'] = (_request, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('half done'))));

  it('says that the deadline passed, whatever the handler threw then', async () => {
    await failureOf((await clientOf({ restore: patient }, { defaultMs: 20, maxMs: 20 })).restore({}));
    await rig.close();
    assert.deepEqual(
      [line()['level'], line()['code'], line()['reason']],
      ['info', 'DeadlineExceeded', 'DEADLINE_EXCEEDED'],
    );
  });

  it('says that the caller hung up, whatever the handler threw then', async () => {
    const controller = new AbortController();
    const restore: StockImpl['restore'] = (request, context) => (controller.abort(), patient(request, context));
    await failureOf((await clientOf({ restore })).restore({}, { signal: controller.signal }));
    await rig.close();
    assert.deepEqual([line()['level'], line()['code'], line()['reason']], ['info', 'Canceled', 'CANCELLED']);
  });

  it('has a logger for the handler before anything is bound', async () => {
    const client = await clientOf({
      restore: (_request, context) => (callLogOf(context).warn({}, 'odd'), {}),
    });
    await client.restore({});
    assert.deepEqual([lines[0]?.['level'], lines[0]?.['rpc'], lines[0]?.['message']], ['warn', 'Restore', 'odd']);
  });
});
