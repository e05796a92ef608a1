import type { BullRootModuleOptions } from '@nestjs/bull';
import { Redis } from 'ioredis';
import type { QueueConfig } from '../job-queue.js';

/** Longer than any pause of the event loop; a job whose process died is found after one to two of these. */
const STALLED_MS = 30_000;

const LONGEST_PAUSE_MS = 1_000;

export function bullOptions(config: QueueConfig): BullRootModuleOptions {
  const prefix = `${config.REDIS_PREFIX}:queue`;
  return {
    prefix,
    redis: {
      ...optionsOf(config.REDIS_URL ?? ''),
      connectionName: prefix,
      connectTimeout: 5_000,
      disconnectTimeout: 200,
      enableReadyCheck: false,
      // A producer waits for its command, so it fails at the first attempt to reconnect. Bull's workers wait longer.
      maxRetriesPerRequest: 1,
      retryStrategy: (times) => Math.min(times * 50, LONGEST_PAUSE_MS),
    },
    // The row decides whether work is repeated. A job of a dead process runs once more, so that the row is looked at.
    defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    settings: { lockDuration: STALLED_MS, stalledInterval: STALLED_MS, maxStalledCount: 1 },
  };
}

/** What a URL says. Bull's own reading of it knows neither TLS nor encoded passwords. */
function optionsOf(url: string): Redis['options'] {
  return { ...new Redis(url, { lazyConnect: true }).options, lazyConnect: false };
}
