import { Logger } from '@nestjs/common';
import type { JobHandler, QueuedJob } from './job-queue.js';

/** The jobs that this process runs now, each with the signal that tells it to end. */
export class RunningJobs {
  private readonly logger = new Logger('JobQueue');
  private readonly running = new Map<AbortController, Promise<void>>();

  /** Runs one job and resolves when it has ended; a failure is logged. */
  async run(kind: string, job: QueuedJob, handler: JobHandler): Promise<void> {
    const controller = new AbortController();
    const end = this.settle(kind, job, () => handler(job, controller.signal));
    this.running.set(controller, end);
    await end;
    this.running.delete(controller);
  }

  /** Aborts all and waits for their end. False when some still run after the limit. */
  async stop(limitMs: number): Promise<boolean> {
    for (const controller of this.running.keys()) controller.abort();
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), limitMs);
    });
    const ended = Promise.all(this.running.values()).then(() => true);
    const inTime = await Promise.race([ended, limit]);
    clearTimeout(timer);
    if (!inTime) {
      this.logger.warn({ msg: 'Jobs did not end in time', jobs: this.running.size });
    }
    return inTime;
  }

  private async settle(kind: string, job: QueuedJob, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.logger.error({ msg: 'A job failed', kind, job: job.id, err: error });
    }
  }
}
