import assert from 'node:assert/strict';
import { silentLogger } from '../../../runtime/lifecycle/logger.ts';
import { startServing } from '../../../runtime/lifecycle/start-serving.ts';

describe('startServing', () => {
  const never = new AbortController().signal;
  let log: string[];
  beforeEach(() => (log = []));

  /** Fails as often as it is told. */
  function preparing(failures: number) {
    return async () => {
      log.push('prepare');
      if (failures-- > 0) throw new Error('not yet');
    };
  }

  const addresses = { address: '127.0.0.1:1', httpAddress: null };
  const listen = async () => {
    log.push('listen');
    return addresses;
  };

  it('opens the port when it can serve, and not before', async () => {
    const started = startServing({ prepare: preparing(0), listen, signal: never, logger: silentLogger });
    assert.deepEqual(await started, addresses);
    assert.deepEqual(log, ['prepare', 'listen']);
  });

  it('opens it when the first try has failed, once, and goes on trying', async () => {
    await startServing({ prepare: preparing(2), listen, signal: never, logger: silentLogger });
    assert.deepEqual(log, ['prepare', 'listen', 'prepare', 'prepare']);
  });

  for (const failures of [0, 1]) {
    it(`fails when the port cannot be opened, after ${failures} failures`, async () => {
      const taken = () => Promise.reject(new Error('taken'));
      const starting = startServing({
        prepare: preparing(failures),
        listen: taken,
        signal: never,
        logger: silentLogger,
      });
      await assert.rejects(starting, /taken/);
    });
  }

  it('gives up with the reason of its signal', async () => {
    const controller = new AbortController();
    const prepare = () => {
      controller.abort(new Error('told to stop'));
      return Promise.reject(new Error('not yet'));
    };
    const starting = startServing({ prepare, listen, signal: controller.signal, logger: silentLogger });
    await assert.rejects(starting, /told to stop/);
  });
});
