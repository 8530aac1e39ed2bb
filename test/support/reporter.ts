import { reporters, type MochaOptions, type Runner } from 'mocha';

/** Mocha's spec reporter, with a last line that a script can read. */
export default class Reporter extends reporters.Spec {
  constructor(runner: Runner, options?: MochaOptions) {
    super(runner, options);
    runner.once('end', () => process.stdout.write(`\n${this.stats.passes} passed, ${this.stats.failures} failed\n`));
  }
}
