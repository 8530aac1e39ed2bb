import assert from 'node:assert/strict';
import { Code, type ConnectError, createContextValues } from '@connectrpc/connect';
import { pino } from 'pino';
import { CallLog, callLogOf, createLogger, plainError, setCallLog } from '../../../runtime/lifecycle/logger.ts';
import { commonError } from '../../../runtime/rpc/errors.ts';

describe("a call's log", () => {
  it('has what was bound before on every line, in this call alone; what is bound again is replaced', () => {
    const lines: string[] = [];
    const logger = pino({ base: null, timestamp: false }, { write: (line: string) => void lines.push(line) });
    const [values, other] = [createContextValues(), createContextValues()];
    setCallLog(values, new CallLog(logger, { rpc: 'Deduct' }));
    setCallLog(other, new CallLog(logger));
    callLogOf({ values }).bind({ a: 1, b: 1 });
    callLogOf({ values }).bind({ b: 2 });
    callLogOf({ values }).warn({ c: 3 }, 'bound');
    callLogOf({ values: other }).info({}, 'other');
    assert.deepEqual(
      lines.map((line) => JSON.parse(line) as unknown),
      [
        { level: 40, rpc: 'Deduct', a: 1, b: 2, c: 3, msg: 'bound' },
        { level: 30, msg: 'other' },
      ],
    );
  });

  it('says nothing outside a call that has one', () => {
    callLogOf({ values: createContextValues() }).error({}, 'to nobody');
  });
});

describe('createLogger', () => {
  it('logs from the level that it is given', () => {
    const logger = createLogger('stock-svc', 'warn');
    assert.deepEqual(
      ['error', 'warn', 'info'].map((level) => logger.isLevelEnabled(level)),
      [true, true, false],
    );
    assert.equal(createLogger('stock-svc', 'silent').isLevelEnabled('fatal'), false);
  });

  it('logs an error of the catalogue, whose details are no JSON', () => {
    const error = commonError('SERVICE_UNAVAILABLE', 'no worker id', { cause: new Error('why') });
    const line = plainError(Object.assign(error, { tokens: 3n })) as Record<string, unknown>;
    assert.deepEqual([line['type'], line['tokens']], ['ConnectError', '3']);
    assert.match(String(line['stack']), /no worker id[^]*why/);
  });

  it('logs no statement, which holds what users have sent', () => {
    const error = Object.assign(new Error('syntax'), { sql: "SELECT 'secret'", parameters: ['secret'], errno: 1064 });
    const line = plainError(error) as Record<string, unknown>;
    assert.equal(line['errno'], 1064);
    assert.doesNotMatch(JSON.stringify(line), /secret/);
  });

  it('puts the name of the service on each line', () => {
    assert.deepEqual(createLogger('stock-svc', 'info').bindings(), { service: 'stock-svc' });
  });
});

describe('plainError', () => {
  const keysOf = (error: Error) => Object.keys(plainError(error) as object).sort();

  it('has type, message, stack and what else is on the error, but not the statement', () => {
    const error = Object.assign(new Error('lost'), { errno: 1062, sql: 'SELECT secret', parameters: ['secret'] });
    assert.deepEqual(keysOf(error), ['errno', 'message', 'stack', 'type']);
    assert.doesNotMatch(JSON.stringify(plainError(new Error('x', { cause: error }))), /secret/);
  });

  it('takes an error of the catalogue, and any other on which hangs what is no JSON', () => {
    const error = commonError('SERVICE_UNAVAILABLE', 'away');
    const { message, code } = plainError(error) as ConnectError;
    assert.deepEqual([message, code], ['[unavailable] away', Code.Unavailable]);
    const circle = Object.assign(new Error('round'), { self: { of: {} } });
    circle.self.of = circle.self;
    assert.deepEqual(keysOf(circle), ['message', 'stack', 'type']);
    assert.equal((plainError(Object.assign(new Error('big'), { big: 1n })) as { big: unknown }).big, '1');
  });
});
