import { BullModule, getQueueToken } from '@nestjs/bull';
import type { BullRootModuleOptions } from '@nestjs/bull';
import type { DynamicModule } from '@nestjs/common';
import type Bull from 'bull';
import { Redis } from 'ioredis';
import { CONFIG } from '../../config/index.js';
import type { Config } from '../../config/index.js';
import { RedisModule, SharedRedis } from '../../redis/index.js';
import { InProcessJobQueue, JobQueue } from '../job-queue.js';
import type { JobKinds, QueueConfig, QueuedJob } from '../job-queue.js';
import { BullJobQueue } from './bull.job-queue.js';

/** How long a process keeps a job without renewing its lock; longer than any pause of the event loop. */
const LOCK_MS = 30_000;

/** How many processes may die with a job before it is dropped: more than its row allows, which counts them too. */
const MAX_DEATHS = 20;

/** A job that no process holds, such as one that got lost on its way to a process, is found after one to two of these. */
const LOOK_EVERY_MS = 10_000;

const MAX_PAUSE_MS = 1_000;

/** BullModule opens the connections, and closes them when the application has closed. */
export function overRedis(kinds: JobKinds): Pick<DynamicModule, 'imports' | 'providers'> {
  const names = Object.keys(kinds);
  return {
    imports: [
      RedisModule,
      BullModule.forRootAsync({ inject: [CONFIG], useFactory: bullOptions }),
      BullModule.registerQueueAsync(...names.map((name) => ({ name, useFactory: () => ({}) }))),
    ],
    providers: [
      {
        provide: JobQueue,
        inject: [CONFIG, SharedRedis, ...names.map((name) => getQueueToken(name))],
        useFactory: (config: Config, redis: SharedRedis, ...queues: Bull.Queue<QueuedJob>[]) =>
          new BullJobQueue(config, kinds, redis, queues, new InProcessJobQueue(config, kinds)),
      },
    ],
  };
}

function bullOptions(config: QueueConfig): BullRootModuleOptions {
  const prefix = `${config.REDIS_PREFIX}:queue`;
  return {
    prefix,
    redis: {
      ...optionsOf(config.REDIS_URL ?? ''),
      // ioredis counts a connection as ready when its first commands were answered or have timed out, even when the connection
      // was replaced meanwhile: one that is then waiting to reconnect never does. So it sends none; BullJobQueue names it.
      disableClientInfo: true,
      connectTimeout: 5_000,
      disconnectTimeout: 200,
      enableReadyCheck: false,
      // A producer waits for its command, so it fails at the first attempt to reconnect. Bull's workers wait longer.
      maxRetriesPerRequest: 1,
      retryStrategy: (times) => Math.min(times * 50, MAX_PAUSE_MS),
    },
    // The row decides whether work is repeated. A job of a dead process runs again, so that the row is looked at.
    defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    settings: {
      lockDuration: LOCK_MS,
      stalledInterval: LOOK_EVERY_MS,
      maxStalledCount: MAX_DEATHS,
    },
  };
}

/** The options in a URL. Bull's own parser supports neither TLS nor encoded passwords. */
function optionsOf(url: string): Redis['options'] {
  return { ...new Redis(url, { lazyConnect: true }).options, lazyConnect: false };
}
