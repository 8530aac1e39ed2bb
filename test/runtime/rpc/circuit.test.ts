import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { pino } from 'pino';
import { RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { circuitInterceptor } from '../../../runtime/rpc/circuit.ts';
import { reasonOf } from '../../../runtime/rpc/errors.ts';
import { wasNotSent } from '../../../runtime/rpc/not-sent.ts';
import { retryInterceptor } from '../../../runtime/rpc/retry.ts';
import { answer, callerThrough, type Outcome, unavailable } from './retry-rig.ts';
import { failureOf } from './rig.ts';

const errorOf = (code: Code) => new ConnectError(Code[code], code);
const FULL_TIME = { timeoutMs: 2000 };

describe('circuitInterceptor', () => {
  let nowMs: number;
  let sent: number;
  let lines: Record<string, unknown>[];
  /** How the next attempts end; those after them are answered. */
  let outcomes: (Outcome | Promise<Outcome>)[];

  beforeEach(() => {
    [nowMs, sent, lines, outcomes] = [1_000_000, 0, [], []];
    mock.method(Date, 'now', () => nowMs);
  });
  afterEach(() => mock.restoreAll());

  function open(options: { failures?: number; silenceMs?: number } = {}) {
    const stream = { write: (text: string) => void lines.push(JSON.parse(text) as Record<string, unknown>) };
    const logger = pino({ messageKey: 'message', base: null }, stream);
    const circuit = circuitInterceptor({ name: 'stock-svc', logger, attemptTimeoutMs: 2000, ...options });
    return callerThrough(circuit, () => (sent++, outcomes.shift()));
  }

  const fails = (times: number, error: Outcome = unavailable()) => Array<Outcome>(times).fill(error);

  /** A circuit that is open. */
  async function opened() {
    const call = open({ silenceMs: 0 });
    outcomes = fails(5);
    for (let i = 0; i < 5; i++) await failureOf(call(FULL_TIME));
    return call;
  }

  it('lets everything through while the server answers', async () => {
    const call = open();
    for (let i = 0; i < 20; i++) assert.equal(await call(FULL_TIME), answer);
    assert.equal(sent, 20);
  });

  it('opens after 5 attempts in a row without an answer, over 200 ms, and then sends nothing', async () => {
    const call = open();
    outcomes = fails(9);
    for (const ms of [0, 100, 0, 0, 99, 1]) {
      nowMs += ms;
      assert.equal(wasNotSent(await failureOf(call(FULL_TIME))), false);
    }
    const error = await failureOf(call(FULL_TIME));
    assert.equal(sent, 6);
    assert.ok(wasNotSent(error));
    assert.deepEqual([error.code, reasonOf(error)], [Code.Unavailable, 'SERVICE_UNAVAILABLE']);
    assert.equal(error.rawMessage, 'stock-svc is not available');
    assert.equal(error.findDetails(RetryInfoSchema).length, 1);
  });

  it('stays closed when many fail at once, as on a connection that breaks, and the next one is answered', async () => {
    const call = open();
    for (let burst = 0; burst < 3; burst++) {
      outcomes = fails(20);
      for (let i = 0; i < 20; i++) await failureOf(call(FULL_TIME));
      nowMs += 1000;
      assert.equal(await call(FULL_TIME), answer);
    }
  });

  it('opens by the last of 5, however far they lie apart', async () => {
    const call = open();
    outcomes = fails(5);
    for (let i = 0; i < 5; i++) {
      nowMs += 3_600_000;
      assert.equal(wasNotSent(await failureOf(call(FULL_TIME))), false);
    }
    assert.ok(wasNotSent(await failureOf(call(FULL_TIME))));
  });

  it('begins to count anew with each answer, be it a success or an error of any other kind', async () => {
    const silent: Code[] = [Code.Canceled, Code.DeadlineExceeded, Code.Unavailable];
    const codes = Object.values(Code).filter((code) => typeof code === 'number');
    const answers = [undefined, ...codes.filter((code) => !silent.includes(code)).map(errorOf)];
    const call = open({ failures: 2, silenceMs: 0 });
    for (const one of answers) {
      outcomes = [unavailable(), one];
      await failureOf(call(FULL_TIME));
      await call(FULL_TIME).catch(() => {});
    }
    assert.equal(sent, 2 * answers.length);
  });

  it('counts an attempt that had all its time, and none whose caller was in a hurry or hung up', async () => {
    const call = open({ failures: 2, silenceMs: 0 });
    outcomes = [
      ...fails(5, errorOf(Code.DeadlineExceeded)),
      ...fails(5, errorOf(Code.Canceled)),
      ...fails(2, errorOf(Code.DeadlineExceeded)),
    ];
    for (let i = 0; i < 5; i++) await failureOf(call({ timeoutMs: 1999 }));
    for (let i = 0; i < 5; i++) await failureOf(call(FULL_TIME));
    for (let i = 0; i < 2; i++) assert.equal(wasNotSent(await failureOf(call(FULL_TIME))), false);
    assert.ok(wasNotSent(await failureOf(call(FULL_TIME))));
  });

  it('lets one attempt through after 500 ms, no other while that one is at work, and closes when it is answered', async () => {
    const call = await opened();
    nowMs += 499;
    assert.ok(wasNotSent(await failureOf(call(FULL_TIME))));
    nowMs += 1;
    const gate = Promise.withResolvers<Outcome>();
    outcomes = [gate.promise];
    const probe = call(FULL_TIME);
    for (let i = 0; i < 3; i++) assert.ok(wasNotSent(await failureOf(call(FULL_TIME))));
    assert.equal(sent, 6);
    gate.resolve(undefined);
    assert.equal(await probe, answer);
    assert.equal(await call(FULL_TIME), answer);
    assert.equal(sent, 7);
  });

  it('closes by an error that the server answers its probe with', async () => {
    const call = await opened();
    nowMs += 500;
    outcomes = [errorOf(Code.FailedPrecondition)];
    assert.equal((await failureOf(call(FULL_TIME))).code, Code.FailedPrecondition);
    assert.equal(await call(FULL_TIME), answer);
  });

  for (const code of [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled]) {
    it(`stays open as long again when its probe ends with ${Code[code]}, however little time it had`, async () => {
      const call = await opened();
      nowMs += 500;
      outcomes = [errorOf(code)];
      assert.equal((await failureOf(call({ timeoutMs: 1 }))).code, code);
      nowMs += 499;
      assert.ok(wasNotSent(await failureOf(call(FULL_TIME))));
      nowMs += 1;
      assert.equal(await call(FULL_TIME), answer);
    });
  }

  it('ends the repeats of a call in which it opens', async () => {
    const circuit = circuitInterceptor({
      name: 'x',
      logger: pino({ level: 'silent' }),
      attemptTimeoutMs: 2000,
      failures: 2,
      silenceMs: 0,
    });
    const retry = retryInterceptor({ backoff: { baseMs: 1, maxMs: 1 } });
    const call = callerThrough(
      (next) => retry(circuit(next)),
      () => (sent++, unavailable()),
    );
    assert.ok(wasNotSent(await failureOf(call(FULL_TIME))));
    assert.equal(sent, 2);
  });

  it('logs when it opens, with what was said, and when it closes, but not each probe', async () => {
    const call = await opened();
    for (let probe = 0; probe < 3; probe++) {
      nowMs += 500;
      outcomes = [unavailable()];
      await failureOf(call(FULL_TIME));
    }
    nowMs += 500;
    await call(FULL_TIME);
    const told = lines.map(({ message, circuit, err }) => [message, circuit, (err as Error | undefined)?.message]);
    assert.deepEqual(told, [
      ['circuit opened', 'stock-svc', '[unavailable] away'],
      ['circuit closed', 'stock-svc', undefined],
    ]);
    assert.ok(Number.isInteger(lines[1]!['open_ms']));
  });

  it('leaves streams alone', async () => {
    const call = await opened();
    assert.equal(await call({ ...FULL_TIME, stream: true as never }), answer);
  });
});
