import { Logger } from '@nestjs/common';
import type { JobHandler, QueuedJob } from './job-queue.js';

/** The jobs that this process runs now, each with the signal that tells it to end. */
export class RunningJobs {
  private readonly logger = new Logger('JobQueue');
  private readonly running = new Map<AbortController, Promise<void>>();
  private readonly abandoned = Promise.withResolvers<undefined>();

  /** Runs one job. Resolves when it has ended, or when `stop` no longer waits for it; a failure is logged. */
  async run(kind: string, job: QueuedJob, handler: JobHandler): Promise<void> {
    const controller = new AbortController();
    const end = this.execute(kind, job, () => handler(job, controller.signal));
    this.running.set(controller, end);
    await Promise.race([end, this.abandoned.promise]);
    this.running.delete(controller);
  }

  /** Aborts all jobs and waits for their end, but not longer than the limit. */
  async stop(limitMs: number): Promise<void> {
    for (const controller of this.running.keys()) controller.abort();
    const timer = setTimeout(() => {
      this.logger.warn({ msg: 'Jobs did not end in time', jobs: this.running.size });
      this.abandoned.resolve(undefined);
    }, limitMs);
    await Promise.race([Promise.all(this.running.values()), this.abandoned.promise]);
    clearTimeout(timer);
  }

  private async execute(kind: string, job: QueuedJob, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.logger.error({ msg: 'Job failed', kind, job: job.id, err: error });
    }
  }
}
