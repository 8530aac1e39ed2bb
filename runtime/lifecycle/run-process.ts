import { ConfigError } from './config.ts';
import { createLogger, type Logger } from './logger.ts';

/** Something that runs until it is stopped. */
export interface Running {
  /** Ends what is in work, and lets go of everything. */
  stop(): Promise<void>;
}

/** Starts a service. When the signal is aborted before it has started, it gives up, lets go of everything and rejects. */
export type Start = (env: NodeJS.ProcessEnv, signal: AbortSignal) => Promise<Running>;

/**
 * The life of a service's process: start; on SIGTERM or SIGINT stop, also half way through the start, and exit 0; on a second one exit 1
 * at once. Exits 1 when the start fails, and when a promise is rejected that nobody handles.
 */
export async function runProcess(service: string, start: Start): Promise<void> {
  const logger = createLogger(service, 'info');
  catchStrays(logger);
  const stopping = new AbortController();
  const told = new Promise<void>((resolve) => {
    const stop = (signal: string) => {
      if (stopping.signal.aborted) process.exit(1);
      logger.info({ signal }, 'stopping');
      stopping.abort();
      resolve();
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
  const running = await started(service, start, stopping.signal, logger);
  void told.then(async () => {
    try {
      await running.stop();
    } catch (err) {
      logger.fatal({ err }, 'could not stop cleanly');
      process.exit(1);
    }
    process.exit(0);
  });
}

async function started(service: string, start: Start, signal: AbortSignal, logger: Logger): Promise<Running> {
  try {
    return await start(process.env, signal);
  } catch (err) {
    if (signal.aborted && err === signal.reason) process.exit(0);
    if (err instanceof ConfigError) process.stderr.write(`${service}: ${err.message}\n`);
    else logger.fatal({ err }, 'could not start');
    process.exit(1);
  }
}

function catchStrays(logger: Logger): void {
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'unhandled rejection');
    process.exit(1);
  });
  // Libraries warn in plain text; the log is JSON.
  console.warn = (...parts: unknown[]) => logger.warn(parts.map(String).join(' '));
}
