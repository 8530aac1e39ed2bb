import assert from 'node:assert/strict';
import { createContextValues } from '@connectrpc/connect';
import { pino } from 'pino';
import { commonError } from '../../../runtime/rpc/errors.ts';
import { CallLog, callLogOf, createLogger, setCallLog } from '../../../runtime/lifecycle/logger.ts';

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
    const line = logged(Object.assign(error, { tokens: 3n }));
    assert.deepEqual([line['type'], line['tokens']], ['ConnectError', '3']);
    assert.match(String(line['stack']), /no worker id[^]*why/);
  });

  it('logs no statement, which holds what users have sent', () => {
    const error = Object.assign(new Error('syntax'), { sql: "SELECT 'secret'", parameters: ['secret'], errno: 1064 });
    const line = logged(error);
    assert.equal(line['errno'], 1064);
    assert.doesNotMatch(JSON.stringify(line), /secret/);
  });

  it('puts the name of the service on each line', () => {
    assert.deepEqual(createLogger('stock-svc', 'info').bindings(), { service: 'stock-svc' });
  });
});

/** What stands under `err` in the log. */
function logged(err: Error): Record<string, unknown> {
  const logger = createLogger('stock-svc', 'info') as unknown as Record<symbol, { err: (error: Error) => unknown }>;
  return JSON.parse(JSON.stringify(logger[pino.symbols.serializersSym]!.err(err))) as Record<string, unknown>;
}
