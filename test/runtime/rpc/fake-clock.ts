import { mock } from 'node:test';

/** A clock that stands still but for what waits on it: `performance.now` and `setTimeout`. */
export class FakeClock {
  nowMs = 0;
  /** Each wait, in milliseconds. */
  readonly waits: number[] = [];

  install(): void {
    mock.method(performance, 'now', () => this.nowMs);
    mock.method(globalThis, 'setTimeout', (over: () => void, ms: number) => {
      this.waits.push(ms);
      this.nowMs += ms;
      queueMicrotask(over);
    });
  }

  uninstall(): void {
    mock.restoreAll();
  }
}
