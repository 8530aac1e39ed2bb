import { CommanderError } from 'commander';
import { Access } from './access.ts';
import { failureOf, status } from './failure.ts';
import { createProgram } from './program.ts';

// `| head` has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

const access = new Access(process.env);
try {
  await createProgram(access).parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // It has said what is wrong with the command line, or given the help that was asked for.
    process.exitCode = error.exitCode === 0 ? status.fine : status.cannot;
  } else {
    const failure = failureOf(error);
    process.stderr.write(`ordersystem: ${failure.message}\n`);
    process.exitCode = failure.status;
  }
} finally {
  await access.close();
}
