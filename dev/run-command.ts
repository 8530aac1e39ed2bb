/** What a command works with. */
export interface CommandContext {
  /** What has to be let go of when the command ends, however it ends: the last thing first. */
  readonly cleanup: AsyncDisposableStack;
  readonly print: (line: string) => void;
}

export interface CommandOptions {
  name: string;
  /** Resolves to the exit status. */
  run: (context: CommandContext) => Promise<number>;
  /** Called when `run` has failed, before the clean-up. By default the error's message is printed to standard error. */
  onError?: (message: string) => void;
  /** The exit status after Ctrl-C or SIGTERM. */
  interruptedStatus: number;
}

// npm passes Ctrl-C on to a process that has had it from the terminal already: two signals so near are one.
const sameSignalMs = 1_000;

/**
 * Runs a command to its end, lets go of everything, and exits. Ctrl-C and SIGTERM end it early, a second one at once: what it
 * started is tied to this process.
 */
export async function runCommand({ name, run, onError, interruptedStatus }: CommandOptions): Promise<never> {
  const cleanup = new AsyncDisposableStack();
  const fail = onError ?? ((message) => process.stderr.write(`${name}: ${message}\n`));
  const interrupted = new Promise<number>((resolve) => {
    let firstMs: number | undefined;
    const onSignal = (): void => {
      const nowMs = performance.now();
      if (firstMs !== undefined && nowMs - firstMs > sameSignalMs) process.exit(1);
      if (firstMs !== undefined) return;
      firstMs = nowMs;
      process.stderr.write(`${name}: stopping…\n`);
      resolve(interruptedStatus);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
  let status = 1;
  try {
    status = await Promise.race([run({ cleanup, print }), interrupted]);
  } catch (error) {
    fail(messageOf(error));
  }
  try {
    await cleanup.disposeAsync();
  } catch (error) {
    process.stderr.write(`${name}: could not stop cleanly: ${messageOf(error)}\n`);
    status ||= 1;
  }
  process.exit(status);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
