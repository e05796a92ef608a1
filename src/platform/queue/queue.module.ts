import { Global, Module } from '@nestjs/common';
import type { BeforeApplicationShutdown, OnApplicationShutdown } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { BullJobQueue } from './bull/bull.job-queue.js';
import { InProcessJobQueue } from './in-process/in-process.job-queue.js';
import { JobQueue } from './job-queue.js';

/** The queue of jobs: Bull with REDIS_URL, otherwise in process. Stops with the streams, closes with the stores. */
@Global()
@Module({
  providers: [
    {
      provide: JobQueue,
      inject: [CONFIG],
      useFactory: (config: Config) =>
        config.REDIS_URL === undefined ? new InProcessJobQueue(config) : new BullJobQueue(config),
    },
  ],
  exports: [JobQueue],
})
export class QueueModule implements BeforeApplicationShutdown, OnApplicationShutdown {
  constructor(private readonly queue: JobQueue) {}

  async beforeApplicationShutdown(): Promise<void> {
    await this.queue.stop();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.queue.close();
  }
}
