import { syncBuiltinESMExports } from 'node:module';
import { mock } from 'node:test';
import timers from 'node:timers/promises';

/** A clock that stands still but for what waits on it: `performance.now` and the `setTimeout` of `node:timers/promises`. */
export class FakeClock {
  nowMs = 0;
  /** Each wait, in milliseconds. */
  readonly waits: number[] = [];

  install(): void {
    mock.method(performance, 'now', () => this.nowMs);
    mock.method(timers, 'setTimeout', (ms: number) => {
      this.waits.push(ms);
      this.nowMs += ms;
      return Promise.resolve();
    });
    syncBuiltinESMExports();
  }

  uninstall(): void {
    mock.restoreAll();
    syncBuiltinESMExports();
  }
}
