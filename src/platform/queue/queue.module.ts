import { Global, Module } from '@nestjs/common';
import type { BeforeApplicationShutdown, DynamicModule } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { overRedis } from './bull/bull.providers.js';
import { InProcessJobQueue, JobQueue } from './job-queue.js';
import type { JobKinds } from './job-queue.js';

/** The queue of jobs: Bull with REDIS_URL, otherwise in process. It stops with the streams and closes with the stores. */
@Global()
@Module({})
export class QueueModule implements BeforeApplicationShutdown {
  constructor(private readonly queue: JobQueue) {}

  static for({ REDIS_URL }: Pick<Config, 'REDIS_URL'>, kinds: JobKinds): DynamicModule {
    return {
      module: QueueModule,
      ...(REDIS_URL === undefined ? inProcess(kinds) : overRedis(kinds)),
      exports: [JobQueue],
    };
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.queue.stop();
  }
}

function inProcess(kinds: JobKinds): Pick<DynamicModule, 'providers'> {
  const useFactory = (config: Config): JobQueue => new InProcessJobQueue(config, kinds);
  return { providers: [{ provide: JobQueue, inject: [CONFIG], useFactory }] };
}
