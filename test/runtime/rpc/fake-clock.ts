import { mock } from 'node:test';

/** A clock that stands still but for what waits on it: `performance.now`, and the timers of `sleep`. */
export class FakeClock {
  nowMs = 0;
  /** Each wait, in milliseconds. */
  readonly waits: number[] = [];

  install(): void {
    const real = globalThis.setTimeout;
    mock.method(performance, 'now', () => this.nowMs);
    mock.method(globalThis, 'setTimeout', (over: () => void, ms: number) => {
      // What a library has left running, such as a closed channel, keeps its own time.
      if (!new Error().stack!.includes('/runtime/lifecycle/sleep.ts')) return real(over, ms);
      this.waits.push(ms);
      this.nowMs += ms;
      queueMicrotask(over);
      return undefined;
    });
  }

  uninstall(): void {
    mock.restoreAll();
  }
}
