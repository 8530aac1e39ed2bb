import assert from 'node:assert/strict';
import { pino } from 'pino';
import { keepTrying } from '../../../runtime/lifecycle/keep-trying.ts';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';

describe('keepTrying', () => {
  const never = new AbortController().signal;
  const soon = { baseMs: 1, maxMs: 2 };

  it('tries until it works, and logs each failure with its cause', async () => {
    const lines: unknown[] = [];
    const write = (text: string) => {
      const { level, msg, attempt, err } = JSON.parse(text) as Record<string, never> & { err: Error };
      lines.push([level, msg, attempt, err.message]);
    };
    let attempts = 0;
    const run = async () => {
      attempts++;
      if (attempts < 3) throw new Error(`no ${attempts}`);
    };
    await keepTrying({
      run,
      failure: 'not yet',
      signal: never,
      backoff: soon,
      logger: pino({ base: null }, { write }),
    });
    assert.equal(attempts, 3);
    assert.deepEqual(lines, [
      [50, 'not yet', 1, 'no 1'],
      [50, 'not yet', 2, 'no 2'],
    ]);
  });

  it('ends its pause when the signal is aborted, with the reason', async () => {
    const controller = new AbortController();
    const tried = Promise.withResolvers<void>();
    const run = () => {
      tried.resolve();
      return Promise.reject(new Error('no'));
    };
    const backoff = { baseMs: 1e9, maxMs: 1e9 };
    const trying = keepTrying({ run, failure: '', signal: controller.signal, backoff, logger: silentLogger });
    await tried.promise;
    controller.abort(new Error('told to stop'));
    await assert.rejects(trying, /told to stop/);
  });

  it('does not begin when the signal is aborted already', async () => {
    const run = () => assert.fail('tried');
    const options = { run, failure: '', signal: AbortSignal.abort(new Error('told to stop')), logger: silentLogger };
    await assert.rejects(keepTrying(options), /told to stop/);
  });
});
