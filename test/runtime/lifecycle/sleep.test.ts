import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { sleep } from '../../../runtime/lifecycle/sleep.ts';

describe('sleep', () => {
  it('ends after its time, and leaves nothing on the signal', async () => {
    const { signal } = new AbortController();
    const startMs = performance.now();
    await sleep(20, signal);
    // Timers can be 1 ms early by this clock.
    assert.ok(performance.now() - startMs >= 19);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it("ends with the signal's reason when it is aborted, before or meanwhile", async () => {
    const reason = new Error('enough');
    await assert.rejects(sleep(60_000, AbortSignal.abort(reason)), reason);
    const controller = new AbortController();
    const sleeping = sleep(60_000, controller.signal);
    controller.abort(reason);
    await assert.rejects(sleeping, reason);
  });
});
