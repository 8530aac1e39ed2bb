import { ConfigError } from './config.ts';
import { createLogger, type Logger } from './logger.ts';

/** Something that runs until it is stopped. */
export interface Running {
  /** Ends what is in work, and lets go of everything. */
  stop(): Promise<void>;
}

/** A service that is up. */
export interface Listening extends Running {
  /** Its gRPC port: `host:port`. */
  readonly address: string;
  /** Its HTTP port; null when it has none. */
  readonly httpAddress: string | null;
}

/**
 * The life of a service's process: start; on SIGTERM or SIGINT stop and exit 0; on a second one exit 1 at once. Exits 1 when the
 * start fails, and when a promise is rejected that nobody handles.
 */
export async function runProcess(service: string, start: (env: NodeJS.ProcessEnv) => Promise<Running>): Promise<void> {
  const logger = createLogger(service, 'info');
  catchStrays(logger);
  let running: Running;
  try {
    running = await start(process.env);
  } catch (error) {
    if (error instanceof ConfigError) process.stderr.write(`${service}: ${error.message}\n`);
    else logger.fatal({ err: error }, 'could not start');
    process.exit(1);
  }
  let stopping = false;
  const stop = (signal: string) => {
    if (stopping) process.exit(1);
    stopping = true;
    logger.info({ signal }, 'stopping');
    running.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.fatal({ err: error }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function catchStrays(logger: Logger): void {
  process.on('unhandledRejection', (error) => {
    logger.fatal({ err: error }, 'unhandled rejection');
    process.exit(1);
  });
  // Libraries warn in plain text; the log is JSON.
  console.warn = (...parts: unknown[]) => logger.warn(parts.map(String).join(' '));
}
