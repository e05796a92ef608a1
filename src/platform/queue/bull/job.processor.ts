import { OnQueueFailed, Process, Processor } from '@nestjs/bull';
import { Inject, Logger } from '@nestjs/common';
import type { Type } from '@nestjs/common';
import type Bull from 'bull';
import { JobQueue } from '../job-queue.js';
import type { QueuedJob } from '../job-queue.js';
import type { BullJobQueue } from './bull.job-queue.js';

/** The processor of one kind of jobs. A class for each, because its decorators hold the kind and its concurrency. */
export function processorOf(kind: string, concurrency: number): Type {
  @Processor(kind)
  class JobProcessor {
    private readonly logger = new Logger('JobQueue');

    constructor(@Inject(JobQueue) private readonly queue: BullJobQueue) {}

    @Process({ concurrency })
    async run({ data }: Bull.Job<QueuedJob>): Promise<void> {
      await this.queue.run(kind, data);
    }

    /** The process of the job died twice: a failure of the handler never reaches Bull. */
    @OnQueueFailed()
    onFailed(job: Bull.Job<QueuedJob> | null, error: Error): void {
      this.logger.error({ msg: 'Job failed permanently', kind, job: job?.data.id, err: error });
    }
  }
  return JobProcessor;
}
