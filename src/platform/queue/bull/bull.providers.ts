import { BullModule, getQueueToken, OnQueueFailed, Process, Processor } from '@nestjs/bull';
import type { BullRootModuleOptions } from '@nestjs/bull';
import { Inject, Logger } from '@nestjs/common';
import type { DynamicModule, Type } from '@nestjs/common';
import type Bull from 'bull';
import { Redis } from 'ioredis';
import { CONFIG } from '../../config/index.js';
import type { Config } from '../../config/index.js';
import { RedisModule, SharedRedis } from '../../redis/index.js';
import { InProcessJobQueue } from '../in-process/in-process.job-queue.js';
import { JobQueue } from '../job-queue.js';
import type { JobKinds, QueueConfig, QueuedJob } from '../job-queue.js';
import { BullJobQueue } from './bull.job-queue.js';

/** How long a job is its process's without a word of the process. Longer than any pause of the event loop. */
const LOCK_MS = 30_000;

/** How many processes of one job may die before it is dropped: more than its row allows, which counts them, too. */
const MOST_DEATHS = 20;

/** A job that no process holds, such as one that got lost on its way to a process, is found after one to two of these. */
const LOOK_EVERY_MS = 10_000;

const LONGEST_PAUSE_MS = 1_000;

/** BullModule opens the connections, and closes them when the application has closed. */
export function overRedis(
  kinds: JobKinds,
  processes: boolean,
): Pick<DynamicModule, 'imports' | 'providers'> {
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
          new BullJobQueue(config, redis, queues, new InProcessJobQueue(config, kinds)),
      },
      ...(processes ? Object.entries(kinds).map((kind) => processorOf(...kind)) : []),
    ],
  };
}

function bullOptions(config: QueueConfig): BullRootModuleOptions {
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
    // The row decides whether work is repeated. A job of a dead process runs again, so that the row is looked at.
    defaultJobOptions: { attempts: 1, removeOnComplete: true, removeOnFail: true },
    settings: {
      lockDuration: LOCK_MS,
      stalledInterval: LOOK_EVERY_MS,
      maxStalledCount: MOST_DEATHS,
    },
  };
}

/** What a URL says. Bull's own reading of it knows neither TLS nor encoded passwords. */
function optionsOf(url: string): Redis['options'] {
  return { ...new Redis(url, { lazyConnect: true }).options, lazyConnect: false };
}

/** The processor of one kind of jobs. A class for each, because its decorators hold the kind and its concurrency. */
function processorOf(kind: string, concurrency: number): Type {
  @Processor(kind)
  class JobProcessor {
    private readonly logger = new Logger('JobQueue');

    constructor(@Inject(JobQueue) private readonly queue: BullJobQueue) {}

    @Process({ concurrency })
    async run({ data }: Bull.Job<QueuedJob>): Promise<void> {
      await this.queue.run(kind, data);
    }

    /** Too many processes died with the job: a failure of the handler never reaches Bull. */
    @OnQueueFailed()
    onFailed(job: Bull.Job<QueuedJob> | null, error: Error): void {
      this.logger.error({ msg: 'Job failed permanently', kind, job: job?.data.id, err: error });
    }
  }
  return JobProcessor;
}
