import { constants } from 'node:os';
import { performance } from 'node:perf_hooks';
import { Logger } from '@nestjs/common';
import type { INestApplication } from '@nestjs/common';
import type { Config } from '../config/index.js';
import { outputTaken } from './log.js';
import { Shutdown } from './shutdown.js';

type StopSignal = 'SIGINT' | 'SIGTERM';

/** One Ctrl-C can arrive twice: from the terminal, and from a parent process that passes it on. */
const SAME_SIGNAL_MS = 300;

/** Time limit of closing, beyond the drain and the grace period of requests; then the process exits anyway. */
const CLOSE_LIMIT_MS = 15_000;

/** Time for a slow reader of the log to take the last lines. */
const LAST_LINES_MS = 2_000;

const logger = new Logger('Process');

/**
 * SIGINT and SIGTERM close the application and end the process with code 0; a second one ends it at once. SIGINT, which
 * a terminal sends, waits neither for load balancers nor for open streams.
 */
export function stopOnSignals(
  app: INestApplication,
  { drainSeconds, SHUTDOWN_GRACE_SECONDS }: Config,
): void {
  let first: number | undefined;
  const onSignal = (signal: StopSignal): void => {
    const now = performance.now();
    if (first === undefined) {
      first = now;
      logger.log({ msg: 'Shutting down; a second signal exits immediately', signal });
      if (signal === 'SIGINT') app.get(Shutdown).hurry();
      void stop(app, (drainSeconds + SHUTDOWN_GRACE_SECONDS) * 1_000 + CLOSE_LIMIT_MS);
    } else if (now - first > SAME_SIGNAL_MS) {
      process.exit(128 + constants.signals[signal]);
    }
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
}

async function stop(app: INestApplication, limitMs: number): Promise<void> {
  setTimeout(() => {
    logger.error({ msg: 'Shutdown timed out' });
    process.exit(1);
  }, limitMs).unref();
  let code = 0;
  try {
    await app.close();
    logger.log({ msg: 'Stopped' });
  } catch (error) {
    logger.error({ msg: 'Shutdown failed', err: error });
    code = 1;
  }
  await outputTaken(LAST_LINES_MS);
  process.exit(code);
}

/** Logs unhandled errors. After an uncaught exception the state is unknown, so the process exits with code 1. */
export function reportUncaughtErrors(): void {
  process.on('unhandledRejection', (reason) => {
    logger.error({ msg: 'Unhandled promise rejection', err: reason });
  });
  process.on('uncaughtException', (error) => {
    logger.fatal({ msg: 'Uncaught exception; exiting', err: error });
    void outputTaken(LAST_LINES_MS).finally(() => process.exit(1));
  });
}
